/* A simulation of one's own: balls that fall and bounce, all steps in one dispatch. */
#include <solo.h>
#include <stdio.h>

enum { BALLS = 1000, STEPS = 500 };

static const char BOUNCE[] = "struct State { height: f32, speed: f32 }\n"
                             "fn init(rng: ptr<function, Rng>) -> State { return State(1.0 + random(rng), 0.0); }\n"
                             "fn step(s: State) -> State {\n"
                             "    let speed = s.speed - 9.81 * 0.01;\n"
                             "    let height = s.height + speed * 0.01;\n"
                             "    if (height < 0.0) { return State(-height, -0.8 * speed); }\n"
                             "    return State(height, speed);\n"
                             "}\n"
                             "fn score(s: State) -> f32 { return s.height; }\n";

int main(void)
{
    static float heights[BALLS];
    solo_error e = {0};
    solo_device *d = solo_device_open(NULL, &e);
    solo_sim_options o = {.population = BALLS, .steps = STEPS, .seed = 1};
    solo_sim *s = solo_sim_new(d, "bounce", BOUNCE, &o, &e);
    if (solo_sim_run(s, SOLO_ONE_DISPATCH, &e) && solo_sim_scores(s, heights, &e)) {
        double sum = 0;
        for (int i = 0; i < BALLS; i++)
            sum += (double)heights[i];
        printf("after %d steps the mean height is %.4f\n", STEPS, sum / BALLS);
    } else
        fprintf(stderr, "sim: %s\n", e.text);
    solo_sim_free(s);
    solo_device_close(d);
    return e.status;
}
