"""Maglev hashing with weights (Eisenbud et al., NSDI 2016, section 3.4), to compare with: own code, no packets.

Each backend has a permutation of a table's slots by its name, and takes the first free slot of it at each of its turns; one of
half the greatest weight has every second turn.
"""
import hashlib

SLOTS = 65537  # a prime


def number(text):
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def table(weights, slots=SLOTS):
    """The backend of each slot, for {name: weight}."""
    names = sorted(weights)
    offset = {n: number("offset " + n) % slots for n in names}
    skip = {n: number("skip " + n) % (slots - 1) + 1 for n in names}
    step, credit = dict.fromkeys(names, 0), dict.fromkeys(names, 0.0)
    greatest, filled, out = max(weights.values()), 0, [None] * slots
    while True:
        for name in names:
            credit[name] += weights[name] / greatest
            if credit[name] < 1:
                continue
            credit[name] -= 1
            while True:
                slot = (offset[name] + step[name] * skip[name]) % slots
                step[name] += 1
                if out[slot] is None:
                    break
            out[slot] = name
            filled += 1
            if filled == slots:
                return out


def picks(weights, connections):
    """The backend of each connection."""
    slots = table(weights)
    return [slots[number("%s:%d" % c) % len(slots)] for c in connections]
