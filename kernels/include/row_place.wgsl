// Where a row of weights is that a tile needs: its matrix, and its first chunk.
struct row_place {
    m: matrix,
    chunk: u32,
}

// Of row `row` of a tile whose first row4 is first_row4 of a part.
fn place_of_row(args: u32, part: u32, first_row4: u32, chunks: u32, row: u32) -> row_place {
    let q = row4_of(args, part, first_row4 + row / 4u, chunks);
    let later = (row & 2u) == 2u;
    let at = select(q.at.xy, q.at.zw, later);
    let rows = select(q.rows.xy, q.rows.zw, later);
    let odd = (row & 1u) == 1u;
    return row_place(matrix(select(at.x, at.y, odd), q.chunks), select(rows.x, rows.y, odd) * chunks);
}
