"""Writes the heap of this process as lines of JSON, which `heapdump` reads (docs/heapgraph.md).

    import heapgraph
    heapgraph.dump("app.jsonl")

or, for a program that runs, ``heapgraph.on_signal("app.jsonl")`` and then ``kill -USR1 PID``; or
``python -m heapgraph -o app.jsonl program.py ARGUMENTS``, which writes when the program ends.

CPython 3.9 to 3.13. No code of the program is run. All texts of the heap are in the file, cut at 100 characters,
passwords and keys among them; ``texts=0`` leaves them out, and keys of dicts, but for the variables of modules.
"""

import gc
import json
import sys
import threading
import time
import types
import weakref

__all__ = ["dump", "on_signal"]
__version__ = "0.1.0"

_OPTIMIZED = 1  # inspect.CO_OPTIMIZED: the code of a function, whose locals are no dict
_MOST_NAME = 100
_IMMORTAL = 1 << 28  # Counts from here on (3.12) say nothing.
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class, not a type of C code
_text = json.encoder.encode_basestring_ascii
# Past metaclasses, which may be the program's.
_mro, _flags, _dict, _dict_offset, _module, _qualname, _name = (
    type.__dict__[name].__get__
    for name in ("__mro__", "__flags__", "__dict__", "__dictoffset__", "__module__", "__qualname__", "__name__")
)


def dump(file, texts=100, collect=True):
    """Writes all objects that the collector knows, and what they refer to, to a path or a text file. Returns their number.

    Memory: some 200 bytes for each object. Time: some 10 µs for each. Other threads wait only where the interpreter makes
    them: objects that they make meanwhile are left out.
    """
    if collect:
        gc.collect()
    if hasattr(file, "write"):
        return _Writer(file, texts).write()
    with open(file, "w", encoding="ascii") as out:
        return _Writer(out, texts).write()


def on_signal(file, number=None, **options):
    """Writes a dump each time the signal comes (SIGUSR1 unless another is given), to the path with a number in it."""
    import signal

    count = [0]

    def write(_signal, _frame):
        count[0] += 1
        name = str(file)
        dump(name if count[0] == 1 else "%s.%d" % (name, count[0]), **options)

    signal.signal(signal.SIGUSR1 if number is None else number, write)


def _is_hidden(value):
    """Is it a value that all programs share, and that explains nothing?"""
    kind = type(value)
    if kind is int:
        return -5 <= value <= 256
    return kind is bool or value is None or value is Ellipsis or value is NotImplemented


_MARKED = (".", "[", "{", "<", "@", " ", "'", "static ", "context variable ", "context slot ")


def _name_of_key(key):
    """A key as a name: one that looks like what the form has a mark for has a mark itself."""
    kind = type(key)
    if kind is str:
        return ("'" + key if key.startswith(_MARKED) else key)[:_MOST_NAME]
    return "[%d]" % key if kind is int else None


def _is_descriptor(value):
    """Would it be asked for what an object has under its name?"""
    return any("__get__" in _dict(kind) for kind in _mro(type(value)) or ())


_OF_FUNCTIONS = ("__code__", "__globals__", "__module__", "__defaults__", "__kwdefaults__", "__closure__", "__func__", "__self__")


class _Writer:
    def __init__(self, out, texts):
        self.out = out
        self.texts = texts
        # By id of a class, whose own code a dict of classes would run.
        self.types = {}
        self.attributes = {}
        self.modules = set()  # Ids of the dicts of modules.
        self.running = {}  # By code that runs: the places on stacks, None for this module's own.
        self.frames = {}  # The same by frame.
        tracemalloc = sys.modules.get("tracemalloc")
        is_tracing = tracemalloc is not None and tracemalloc.is_tracing()
        self.place_of = tracemalloc.get_object_traceback if is_tracing else None

    def write(self):
        own = set()
        stacks = self.stacks()
        objects = self.objects(own, stacks)
        counts = self.counts(objects)
        header = {
            "heapgraph": 1,
            "runtime": "CPython " + sys.version.split()[0],
            "producer": "heapgraph-python " + __version__,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "rules": ["roots-told"],
        }
        self.line(header)
        # Roots come first, so that a file that is cut has them.
        self.write_threads(stacks, counts)
        self.write_roots(objects, counts, stacks)
        for value in objects:
            self.write_object(value, counts)
        self.line({"end": True, "objects": len(objects)})
        return len(objects)

    def line(self, record):
        self.out.write(json.dumps(record) + "\n")

    def stacks(self):
        """Of each thread its object, and its frames, innermost first, with the variables of functions."""
        frames = sys._current_frames()
        stacks = []
        for thread_number, thread in enumerate(threading.enumerate(), 1):
            stack = []
            frame = frames.get(thread.ident)
            while frame is not None:
                code = frame.f_code
                is_own = frame.f_globals is globals()
                place = None if is_own else (thread_number, len(stack))
                self.running.setdefault(id(code), []).append(place)
                self.frames[id(frame)] = place
                if not is_own:
                    variables = []
                    # Variables of a module are in its dict, which the module holds.
                    if code.co_flags & _OPTIMIZED:
                        variables_of_frame = frame.f_locals
                        variables = [(name, value) for name, value in variables_of_frame.items() if not _is_hidden(value)]
                        if sys.version_info < (3, 13):
                            # The frame would keep this copy, and what is in it, until its function returns.
                            variables_of_frame.clear()
                    stack.append((code, frame.f_lineno, str(frame.f_globals.get("__name__")), variables))
                frame = frame.f_back
            stacks.append((thread, stack))
        return stacks

    def objects(self, own, stacks):
        """All objects, each once."""
        todo = gc.get_objects()
        frame = sys._getframe()
        while frame is not None and frame.f_globals is globals():
            own.add(id(frame))
            frame = frame.f_back
        own.update(map(id, (todo, own, self, self.__dict__, self.types, self.attributes, self.modules, self.running, self.frames, stacks)))
        self.modules.update(id(module.__dict__) for module in list(sys.modules.values()) if type(module) is types.ModuleType)
        for thread, stack in stacks:
            own.update((id(stack), id(self.out)))
            for entry in stack:
                own.add(id(entry))
                own.add(id(entry[3]))
                own.update(map(id, entry[3]))
        own.update(id(pair) for pair in stacks)
        for places in self.running.values():
            own.add(id(places))
            own.update(map(id, places))
        seen = own
        objects = []
        todo.extend(module for module in list(sys.modules.values()) if module is not None)
        todo.extend(value for _, stack in stacks for *_, variables in stack for _, value in variables)
        while todo:
            value = todo.pop()
            number = id(value)
            if number in seen or _is_hidden(value):
                continue
            seen.add(number)
            if type(value) is types.FrameType and value.f_globals is globals():
                continue
            objects.append(value)
            todo.extend(self.references(value)[0])
        return objects

    def counts(self, objects):
        """How many references there are to each object from others. Every object has an entry."""
        counts = dict.fromkeys(map(id, objects), 0)
        for value in objects:
            for target in self.references(value)[0]:
                number = id(target)
                if number in counts:
                    counts[number] += 1
            if issubclass(type(value), weakref.ref):
                target = weakref.ref.__call__(value)
                if target is not None and id(target) in counts:
                    counts[id(target)] -= 1
        return counts

    def references(self, value):
        """What an object refers to, and the names of these, as far as they are known; and how many of the last are weak."""
        targets = gc.get_referents(value)
        if issubclass(type(value), dict):
            return self.references_of_dict(value, targets)
        if issubclass(type(value), weakref.ref):
            target = weakref.ref.__call__(value)
            if target is not None:
                return targets + [target], None, 1
        return targets, None, 0

    def references_of_dict(self, value, found):
        """The collector does not visit keys that are texts: of dicts with no other keys none."""
        pairs = list(dict.items(value))
        targets = []
        names = []
        has_names = self.texts or id(value) in self.modules
        for key, item in pairs:
            targets.append(item)
            names.append(_name_of_key(key) if has_names else None)
        targets.extend(key for key, _ in pairs)
        if type(value) is not dict:
            listed = set(map(id, targets))
            targets.extend(target for target in found if id(target) not in listed)
        return targets, names, 0

    def type_number(self, kind):
        number = self.types.get(id(kind))
        if number is None:
            number = self.types[id(kind)] = len(self.types)
            name = _name(kind)
            if _flags(kind) & _HEAP_TYPE:
                module = _module(kind)
                name = _qualname(kind)
                if type(module) is str and module != "builtins":
                    name = "%s.%s" % (module, name)
            elif "." not in name and type(_module(kind)) is str and _module(kind) != "builtins":
                name = "%s.%s" % (_module(kind), name)
            self.line({"type": number, "name": name, "class": id(kind)})
        return number

    def size(self, value):
        for kind in _mro(type(value)) or ():
            if "__sizeof__" in _dict(kind):
                if type(_dict(kind)["__sizeof__"]) is types.FunctionType:
                    return object.__sizeof__(value)
                break
        try:
            return sys.getsizeof(value)
        except Exception:
            return 0

    def write_object(self, value, counts):
        kind = type(value)
        number = self.type_number(kind)
        parts = ['{"id":%d,"type":%d,"size":%d' % (id(value), number, self.size(value))]
        targets, names, weak = self.references(value)
        if targets:
            if names is None:
                names = self.names(value, kind, targets)
            kept = [at for at, target in enumerate(targets) if id(target) in counts]
            if kept:
                parts.append(',"refs":[%s]' % ",".join([str(id(targets[at])) for at in kept]))
                if names:
                    named = [names[at] if at < len(names) else None for at in kept]
                    if any(name is not None for name in named):
                        texts = ["null" if name is None else _text(name) for name in named]
                        parts.append(',"names":[%s]' % ",".join(texts))
                if weak and kept[-1] == len(targets) - 1:
                    parts.append(',"weak":[%d]' % (len(kept) - 1))
        if kind is str and self.texts:
            parts.append(',"text":' + _text(value[: self.texts]))
        elif issubclass(kind, type):
            parts.append(',"class_of":%d' % self.type_number(value))
        if self.place_of is not None:
            place = self.place_of(value)
            if place:
                parts.append(',"at":' + _text("%s:%d" % (place[0].filename, place[0].lineno)))
        parts.append("}\n")
        self.out.write("".join(parts))

    def names(self, value, kind, targets):
        """Names of the variables of an object without a dict (slots; from 3.11 on those of most objects), of what a function,
        a method or a cell has, and of the elements of a list."""
        if kind is list:
            return ["[%d]" % at for at in range(len(targets))] if len(targets) == len(value) else None
        if kind is tuple:
            return None
        if kind is types.CellType:
            return ["cell_contents"]
        if kind is types.ModuleType:
            return ["__dict__" if type(target) is dict else None for target in targets]
        if issubclass(kind, type):
            variables = gc.get_referents(_dict(value))
            return ["__dict__" if target is variables[0] else None for target in targets] if variables else None
        wanted = set(map(id, targets))
        names = {id(kind): "<class>"}
        for name in _OF_FUNCTIONS if kind is types.FunctionType or kind is types.MethodType else self.attributes_of(kind):
            if len(names) > len(wanted):
                break
            try:
                target = object.__getattribute__(value, name)
            except AttributeError:
                continue
            if id(target) in wanted:
                names.setdefault(id(target), name)
        return [names.get(id(target)) for target in targets]

    def attributes_of(self, kind):
        """Names that objects of a class may have: its slots, and what its functions name. None that a class itself has
        a descriptor under, but slots: no code of the program is run."""
        names = self.attributes.get(id(kind))
        if names is None:
            slots, taken, maybe = [], set(), {}
            for base in _mro(kind) or ():
                for name, value in list(_dict(base).items()):
                    if type(name) is not str:
                        continue
                    if type(value) is types.MemberDescriptorType:
                        slots.append(name)
                        continue
                    if _is_descriptor(value):
                        taken.add(name)
                    if type(value) is types.FunctionType:
                        maybe.update(dict.fromkeys(value.__code__.co_names))
                    elif name == "__annotations__" and type(value) is dict:
                        maybe.update((name, None) for name in list(value) if type(name) is str)
                    elif name == "__static_attributes__" and type(value) is tuple:
                        maybe.update(dict.fromkeys(value))
            names = list(dict.fromkeys(slots))
            if _dict_offset(kind) and _flags(kind) & _HEAP_TYPE:
                # Before 3.11 variables are in a dict, from then on in the object.
                is_inline = sys.version_info >= (3, 11)
                names += [name for name in maybe if type(name) is str and name not in taken] if is_inline else ["__dict__"]
            self.attributes[id(kind)] = names
        return names

    def write_threads(self, stacks, counts):
        for number, (thread, stack) in enumerate(stacks, 1):
            frames = [
                {"method": getattr(code, "co_qualname", code.co_name), "class": module, "file": code.co_filename, "line": line}
                for code, line, module, _ in stack
            ]
            record = {"thread": number, "name": thread.name, "frames": frames}
            if id(thread) in counts:
                record["object"] = id(thread)
            self.line(record)
            for frame, (_, _, _, variables) in enumerate(stack):
                for name, value in variables:
                    if id(value) in counts:
                        self.line({"root": id(value), "kind": "local", "name": name, "thread": number, "frame": frame})

    def write_roots(self, objects, counts, stacks):
        for thread, stack in stacks:
            counts[id(thread)] = counts.get(id(thread), 0) + 1
            for *_, variables in stack:
                # One reference from the frame, one from our list: the root of the variable stands for both.
                for _, value in variables:
                    counts[id(value)] = counts.get(id(value), 0) + 2
        # Functions that run hold the variables of their module, which is a root by itself.
        held = self.modules
        for name, module in list(sys.modules.items()):
            if id(module) in counts:
                self.line({"root": id(module), "kind": "module", "name": str(name)})
        count_of = sys.getrefcount
        kind = thread = value = None
        for value in objects:
            # One reference from the list, one from the variable, one from the call.
            count = count_of(value)
            surplus = count - counts[id(value)] - 3
            if surplus > 0 and self.is_running(value):
                continue
            if surplus > 0 and type(value) is not types.ModuleType and id(value) not in held:
                kind = "runtime" if count >= _IMMORTAL else "external"
                self.out.write('{"root":%d,"kind":"%s"}\n' % (id(value), kind))

    def is_running(self, value):
        """Is it a frame or a function that a stack refers to? Writes that as its root."""
        kind = type(value)
        if kind is types.FrameType and id(value) in self.frames:
            place = self.frames[id(value)]
        elif kind is types.FunctionType and value.__globals__ is globals():
            place = None
        elif kind is types.FunctionType and self.running.get(id(value.__code__)):
            place = self.running[id(value.__code__)][0]
        else:
            return False
        if place is not None:
            self.line({"root": id(value), "kind": "native-stack", "thread": place[0], "frame": place[1]})
        return True


def _main():
    import argparse
    import io
    import os
    import traceback

    parser = argparse.ArgumentParser(prog="python -m heapgraph", description="Runs a program, then writes its heap.")
    parser.add_argument("-o", "--output", default="heap.jsonl", help="where to write [default: heap.jsonl]")
    parser.add_argument("program", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    sys.argv = [options.program] + options.arguments
    sys.path[0] = os.path.dirname(os.path.abspath(options.program))
    with io.open_code(options.program) as program:
        code = compile(program.read(), options.program, "exec")
    # What the program leaves in its variables is there at its end, however it ends.
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__file__ = options.program
    status = 0
    try:
        exec(code, main.__dict__)
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    dump(options.output)
    sys.exit(status)


if __name__ == "__main__":
    _main()
