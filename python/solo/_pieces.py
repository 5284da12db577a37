"""A traced graph in pieces: those that Solo lowers, and between them what runs in eager mode."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node


def copies_back(node: Node) -> bool:
    """Does it change one of the graph's inputs? Such nodes come last."""
    return (node.target is torch.ops.aten.copy_.default and isinstance(node.args[0], Node)
            and node.args[0].op == "placeholder")


def is_view(node: Node) -> bool:
    return node.target is operator.getitem or (isinstance(node.target, torch._ops.OpOverload) and node.target.is_view)


def _made_by(node: Node) -> Node:
    """The operator of which it is a result."""
    return node.all_input_nodes[0] if node.target is operator.getitem else node


class Piece:
    """Nodes that run together; what they need and what others need of them, by names of the whole graph."""

    def __init__(self, module: GraphModule, nodes: list[Node], refused: bool) -> None:
        self.refused, self.nodes = refused, nodes
        graph = Graph()
        made: dict[Node, Node] = {}
        inside = set(nodes)

        def add(node: Node) -> None:
            made[node] = graph.node_copy(node, made.__getitem__)

        needed = dict.fromkeys(given for node in nodes for given in node.all_input_nodes if given not in inside)
        self.inputs = [node.name for node in needed if node.op != "get_attr"]
        for node in needed:
            if node.op != "get_attr":
                made[node] = graph.placeholder(node.name)
                made[node].meta = dict(node.meta)
        for node in (*(n for n in needed if n.op == "get_attr"), *nodes):
            add(node)
        shown = [n for n in nodes if not copies_back(n) and any(user not in inside for user in n.users)]
        self.outputs = [node.name for node in shown]
        graph.output(tuple(made[node] for node in shown))
        self.module = GraphModule(module, graph)


def split(module: GraphModule, refused: Callable[[Node], bool]) -> list[Piece]:
    """Pieces in the order in which they run, refused ones and others by turns; as few as that allows."""
    levels: dict[Node, int] = {}  # odd: refused

    def place(node: Node, after: int) -> None:
        levels[node] = after + (after % 2 != refused(_made_by(node)))

    nodes = [node for node in module.graph.nodes if node.op == "call_function"]
    for node in nodes:
        if node.target is operator.getitem:
            levels[node] = levels[_made_by(node)]
        elif not copies_back(node):
            place(node, max((levels[given] for given in node.all_input_nodes if given in levels), default=-1))
    last = max(levels.values(), default=0)
    for node in nodes:
        if node not in levels:
            place(node, last)
    return [Piece(module, [node for node in nodes if levels[node] == level], level % 2 != 0)
            for level in sorted(set(levels.values()))]


def run(pieces: list[tuple[Piece, Callable[..., Any]]], module: GraphModule, args: tuple[Any, ...]) -> list[Any]:
    """The whole graph's results."""
    places = [node.name for node in module.graph.nodes if node.op == "placeholder"]
    values = dict(zip(places, args, strict=True))
    for piece, function in pieces:
        values.update(zip(piece.outputs, function(*(values[name] for name in piece.inputs)), strict=True))
    returned = next(node for node in module.graph.nodes if node.op == "output").args[0]
    return [_value(module, values, what) for what in returned]


def _value(module: GraphModule, values: dict[str, Any], what: Any) -> Any:
    if not isinstance(what, Node):
        return what
    return getattr(module, str(what.target)) if what.op == "get_attr" else values[what.name]
