# Leaks in the way that is asked for: 2,000 times, then 6,000 times more, with a dump after each:
# PYTHONPATH=contrib/heapgraph-python python3 leaks.py WAY OLD NEW
import functools
import queue
import sys
import threading

import heapgraph


class Item:
    def __init__(self, number):
        self.number = number + 1000
        self.name = "item number %d" % number
        self.tags = [str(number), str(number + 1)]


class Store:
    RECENT = []

    def __init__(self):
        self.by_id = {}


class Hub:
    def __init__(self):
        self.listeners = []


STORE = Store()
HUB = Hub()
CACHE = {}
ENTRIES = []
JOBS = queue.Queue()
LOCAL = threading.local()
# Healthy, and larger than what leaks at first.
TEMPLATES = {number: "a template of some length, number %d" % number for number in range(4000)}


@functools.lru_cache(maxsize=None)
def load(number):
    return Item(number)


def listen(number):
    item = Item(number)
    HUB.listeners.append(lambda: item)


def bounded(number):
    CACHE[number] = Item(number)
    CACHE.pop(number - 1000, None)


def local(number):
    if not hasattr(LOCAL, "items"):
        LOCAL.items = []
    LOCAL.items.append(Item(number))


ONE_WAY = {
    "dict": lambda number: CACHE.__setitem__(number, Item(number)),
    "list": lambda number: ENTRIES.append(Item(number)),
    "attribute": lambda number: STORE.by_id.__setitem__(number, Item(number)),
    "class": lambda number: Store.RECENT.append(Item(number)),
    "lru-cache": load,
    "queue": lambda number: JOBS.put(Item(number)),
    "listener": listen,
    "thread-local": local,
    "bounded": bounded,
}[sys.argv[1]]


def main():
    for number in range(2000):
        ONE_WAY(number)
    heapgraph.dump(sys.argv[2])
    for number in range(2000, 8000):
        ONE_WAY(number)
    heapgraph.dump(sys.argv[3])


main()
