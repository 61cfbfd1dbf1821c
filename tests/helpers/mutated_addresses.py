"""Addresses of the lab with some characters changed, left out or repeated."""

import random

from linsep.lab.scene import Scene
from linsep.lab.scene_sources import ready_made, url_of

LETTERS = "abzXY0123456789.,;=&-+e%#<>'\"(){}[]/\\ \n\0éλ中"


def mutated_addresses(n, seed=17):
    """``n`` damaged addresses; some of them still say something."""
    rng = random.Random(seed)
    own = url_of(Scene(((1.0, 2.0, 0), (-1.5, 0.25, 1), (3.0, 1.0, 2)), "", ("a", "b", "c")))
    known = [url_of(ready_made(name)) for name in ("xor", "five-points", "moons", "descent-minima")]
    known += [own, own + "&learner=winnow&keep=best&start=1,1,1&rate=0.5&at=3&rounds=50"]
    return [_mutated(rng, rng.choice(known)) for _ in range(n)]


def _mutated(rng, text):
    parts = list(text)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        place = rng.randrange(len(parts)) if parts else 0
        action = rng.randrange(4)
        if action == 0 and parts:
            parts[place] = rng.choice(LETTERS)
        elif action == 1 and parts:
            del parts[place]
        elif action == 2:
            parts.insert(place, rng.choice(LETTERS) * rng.choice([1, 1, 1, 60]))
        else:
            parts[place:place] = parts[place : place + rng.randrange(1, 30)]
    return "".join(parts)
