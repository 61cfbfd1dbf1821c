"""Scenes of the lab as a person may make them, and worse: repeated points, ties, huge and tiny
coordinates, one to four classes, any learner and setting.
"""

from random import Random

from linsep.lab.declared import SHOWN
from linsep.lab.scene import checked_scene
from linsep.lab.settings import SETTINGS


def random_scenes(count, seed=0, most=60):
    """Return scenes of the room of classes, every learner in its turn."""
    random, learners = Random(seed), list(SHOWN)
    return [random_scene(random, learners[k % len(learners)], most) for k in range(count)]


def random_scene(random, learner, most):
    """Return a scene of a learner."""
    n, k = random.choice([2, 3, 5, 9, 20, most]), random.choice([2, 2, 2, 3, 4])
    grid = random.choice([1, 3, 10, 1000])
    unit = random.choice([1, 1, 1, 0.1, 1e-7, 1e-200, 900])
    low = 0 if learner == "winnow" else -grid
    places = [[random.randint(low, grid) * unit, random.randint(low, grid) * unit]
              for _ in range(n)]  # fmt: skip
    lines = [[random.uniform(-1, 1) for _ in range(3)] for _ in range(k)]
    separable = random.random() < 0.6

    def code(x, y):
        if not separable:
            return random.randrange(k)
        return max(range(k), key=lambda c: lines[c][0] * x + lines[c][1] * y + lines[c][2] * unit)

    points = [[*place, code(*place)] for place in places]
    settings = {"learner": learner, "rounds": random.choice([1, 17, 60, 250])}
    for one in SETTINGS.values():
        if "classes" not in one.rooms or one.name in ("learner", "rounds", "room"):
            continue
        if random.random() < 0.4:
            settings[one.name] = random_value(random, one)
    labels = random.choice([[], ["b", "a", "d", "c"][:k], ["2", "10", "3", "1"][:k]])
    return checked_scene(points, "", labels, ["x1", "x2"], settings, 0)


def random_value(random, setting):
    """Return a valid value of a setting."""
    one = setting.parameter
    if one.kind is bool:
        return random.random() < 0.5
    if one.kind is str:
        return random.choice(one.choices)
    if setting.size > 1:
        return [random.choice([0, -1, 0.5, 1, 2]) for _ in range(setting.size)]
    values = [*one.words, one.default, one.at_least, min(one.at_most, 2), random.uniform(0.1, 0.9)]
    values = [v if isinstance(v, str) else one.kind(v) for v in values]
    return random.choice([v for v in values if one.accepts(v)])
