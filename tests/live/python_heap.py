# A program with known facts, whose heap is written by contrib/heapgraph-python. Arguments: where that is, the file to write.
import sys

sys.path.insert(0, sys.argv[1])

import functools
import gc
import threading
import weakref

import heapgraph


class Order:
    def __init__(self, number):
        self.number = number + 10**6
        self.lines = ["line %d/%d %s" % (number, line, "." * 80) for line in range(3)]


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self, left, right):
        self.left = left
        self.right = right


class Node:
    def __init__(self):
        self.peer = None
        self.load = bytearray(3000)


ORDERS = {number: Order(number) for number in range(100)}
SLOTTED = [Slotted(bytearray(10_000), None) for _ in range(10)]
BIG = bytes(1_000_000)
CYCLE = []
CYCLE.append(CYCLE)
WEAK = weakref.ref(ORDERS[0])


@functools.lru_cache(maxsize=None)
def square(number):
    return Order(number * number)


for number in range(50):
    square(number + 300)

stop = threading.Event()
ready = threading.Event()


def worker():
    local_in_thread = bytearray(200_000)
    ready.set()
    stop.wait()
    return local_in_thread


def frame():
    on_stack = bytearray(300_000)
    first, second = Node(), Node()
    first.peer, second.peer = second, first
    heapgraph.dump(sys.argv[2], texts=16)
    return on_stack, first


thread = threading.Thread(target=worker, name="known-worker")
thread.start()
ready.wait()
gc.collect()
frame()
stop.set()
