"""Operations as built-in functions of Python: one compiled function that CPython calls without anything in between.

A dispatcher of Numba takes 0.6 us for a call with five arrays, as long as the right-hand side of ten bodies. What
CPython itself calls (`METH_FASTCALL`) gets the objects as they are; here it looks into their headers, and a call takes
a twentieth of a microsecond. Of the operation, the arrays and their shapes it learns from a *plan*, a list of words:

    FUNCTION    address of the operation (:mod:`mbkern.core.operations`)
    INPUTS, RESULTS    how many arrays are read, how many written
    LOSSES      whether the operation may lose digits: then an estimate of the loss beyond the frame's limit is LOSSY
    WORK        bytes from the beginning of a frame to its workspace
    ANY_SIZE    whether the shape of a result depends on the inputs: then Python makes it when none is given
    RELEASES    whether other threads of Python may go on meanwhile: to hand over to them takes 0.05 us
    NAMED       address of a class of named tuples that the numbers of the one result are handed out as, or 0
    KEEPS, TURN whether results are kept for later calls, and which of the KEPT places is next
    INTERFACE   address of the table of Python's own addresses, see :mod:`.interpreter`
    IDLE, MADE  how many frames nobody uses now, how many there are; their addresses are from
    POOL        on, room for MOST_FRAMES
    ARRAYS      of each array: which argument of the operation it is, its number of dimensions, and these; -1 stands for
                any number, the same in all arrays

The function is bound to a tuple (plan, explain, new_frame, named, kept) and takes (t, out, inputs ...): a float or int,
None or the results, plain float64 arrays. Whatever it does not take as it is goes to Python: explain(code, t, out,
inputs ...). As long as it does not call anything, no other thread of Python runs, so that frames need no lock.

To make two new arrays and a tuple, and to free them, takes 0.3 us. So small results are kept in a tuple of KEPT places,
and those that nobody else has a reference to any more are handed out again: in a loop ``q, p = stepper.step()`` the
results of the last call but one.
"""

from math import prod

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy import array, int64, intp

from ..core.arguments import UNKNOWN, WORDS, call_operation, data_of, integers_at, stack_words
from ..core.atomics import WORD
from ..core.checks import BAD_SHAPE, LOSSY, OK
from ..core.entry import MOST
from ..core.jit import c_function, exact
from ..core.layout import LOSS_LIMIT, loss_at
from ..core.number import array_at, get
from . import interpreter as py

FUNCTION, INPUTS, RESULTS, LOSSES, WORK, ANY_SIZE, RELEASES, NAMED, INTERFACE, IDLE, MADE, KEEPS, TURN, POOL = range(14)
MOST_FRAMES = 64
KEPT, MOST_KEPT = 2, 2048  # results of how many calls, and numbers in those of one
ARRAYS = POOL + MOST_FRAMES
ALL_WORDS, ALL_OBJECTS = WORDS * MOST, MOST + 3  # of the arguments of an operation; code, t, out and inputs
HASHES = (py.ITEMS - py.HASH) // WORD  # words of a tuple between its length and its items: none before Python 3.14
NO_RESULT, NO_FRAME = -2, -3  # codes beside those of `checks`: Python has raised; all frames are in use

BUILTIN = types.intp(types.intp, types.intp, types.intp)
_word = ir.IntType(64)


def _caller(result, kind):
    """An intrinsic that calls a C function at an address with words, a tuple, and returns that kind of result."""
    @intrinsic
    def call(typingctx, address, words):
        def codegen(context, builder, sig, args):
            function_type = ir.FunctionType(kind, [_word] * len(words))
            given = [builder.extract_value(args[1], k) for k in range(len(words))]
            made = builder.call(builder.inttoptr(args[0], function_type.as_pointer()), given)
            return context.get_dummy_value() if result is types.void else made
        return result(types.intp, words), codegen
    return call


call_word = _caller(types.intp, _word)
call_number = _caller(types.float64, ir.DoubleType())
call_nothing = _caller(types.void, ir.VoidType())


@intrinsic
def new_float(typingctx, address, x):
    """Call the C function at `address`, a word of a float64."""
    def codegen(context, builder, sig, args):
        function_type = ir.FunctionType(_word, [ir.DoubleType()])
        return builder.call(builder.inttoptr(args[0], function_type.as_pointer()), [args[1]])
    return types.intp(types.intp, types.float64), codegen


@exact
def word_at(address):
    return integers_at(address, 1)[0]


@exact
def number_in(interface, thing):
    """(whether it is a number that is taken as it is, which)"""
    kind = word_at(thing + py.KIND)
    if kind == interface[py.FLOAT] or kind == interface[py.FLOAT64]:
        return True, get(array_at(thing + py.FLOAT_VALUE, 1), 0)
    if kind != interface[py.INT]:
        return False, 0.0
    value = call_number(interface[py.INT_TO_FLOAT], (thing,))
    if value == -1.0:  # what an int beyond all floats gives, too: Python looks into it
        call_nothing(interface[py.CLEAR_ERROR], ())
    return value != -1.0, value


@exact
def is_array(interface, thing, dimensions, flags):
    """Whether it is a plain float64 array with that many dimensions and these flags. No subclass: compiled code would
    take what lies below the mask of a masked array."""
    if word_at(thing + py.KIND) != interface[py.NDARRAY]:
        return False
    kind = word_at(word_at(thing + py.ARRAY_KIND) + py.DTYPE_KIND) & py.KIND_MASK
    return (kind == interface[py.KIND_OF_FLOAT64] and word_at(thing + py.ARRAY_DIMENSIONS) & py.HALF == dimensions
            and word_at(thing + py.ARRAY_FLAGS) & flags == flags)


@exact
def result_at(interface, plan, out, k):
    """Result k of `out`, an array or a tuple of several; 0 when there is none."""
    if plan[RESULTS] == 1:
        return out
    if word_at(out + py.KIND) != interface[py.TUPLE] or word_at(out + py.LENGTH) != plan[RESULTS]:
        return 0
    return word_at(out + py.ITEMS + WORD * k)


@exact
def new_array(interface, plan, at):
    """A new array of the shape that is at this place of the plan; 0 when Python has raised."""
    shape = data_of(plan) + WORD * (at + 2)
    nothing = intp(0)  # no strides, data, size of an item, flags, and nobody to ask
    return call_word(interface[py.NEW_ARRAY], (interface[py.NDARRAY], plan[at + 1], shape, intp(py.DOUBLE), nothing,
                                               nothing, nothing, nothing, nothing))


@exact
def new_results(interface, plan):
    """New arrays for all results, one or a tuple of several; 0 when Python has raised."""
    at, count = ARRAYS, plan[RESULTS]
    for _ in range(plan[INPUTS]):
        at += 2 + plan[at + 1]
    if count == 1:
        return new_array(interface, plan, at)
    made = call_word(interface[py.NEW_TUPLE], (count,))
    for k in range(count if made != 0 else 0):
        item = new_array(interface, plan, at)
        if item == 0:
            call_nothing(interface[py.DROP], (made,))
            return intp(0)
        integers_at(made + py.ITEMS, count)[k] = item
        at += 2 + plan[at + 1]
    return made


@exact
def nobody_has(plan, out):
    """Whether nothing but the place where it is kept has a reference to a result, an array or a tuple of several."""
    if out == 0 or word_at(out + py.REFERENCES) != 1:
        return False
    if plan[RESULTS] > 1:
        for k in range(plan[RESULTS]):
            if word_at(word_at(out + py.ITEMS + WORD * k) + py.REFERENCES) != 1:
                return False
    return True


@exact
def taken(interface, plan, kept, place):
    """The results at a place, which is empty afterwards, when nobody has them; else new ones. 0: Python has raised."""
    out = kept[place]
    if nobody_has(plan, out):
        kept[place] = 0
        return out
    return new_results(interface, plan)


@exact
def keep(interface, kept, place, out):
    """Put results at a place, as one more who has them."""
    before = kept[place]
    kept[place] = call_word(interface[py.SHARE], (out,))
    if before != 0:
        call_nothing(interface[py.DROP], (before,))


@exact
def named(interface, kind, out):
    """The numbers of a result as a tuple of that class; 0 when Python has raised."""
    count = word_at(word_at(out + py.ARRAY_SHAPE))
    numbers = array_at(word_at(out + py.ARRAY_DATA), count)
    made = call_word(interface[py.NEW_OBJECT], (kind, count))
    if made == 0:
        return made
    items = integers_at(made + py.HASH, UNKNOWN)
    for k in range(HASHES):  # not computed yet
        items[k] = -1
    for k in range(count):
        item = new_float(interface[py.NEW_FLOAT], get(numbers, k))
        if item == 0:
            call_nothing(interface[py.DROP], (made,))
            return item
        items[HASHES + k] = item
    return made


@exact
def handed_out(interface, plan, out, new):
    """What the caller gets of the results, a new reference."""
    if plan[NAMED] == 0:
        return out if new else call_word(interface[py.SHARE], (out,))
    answer = named(interface, plan[NAMED], out)
    if new:
        call_nothing(interface[py.DROP], (out,))
    return answer


@exact
def place_arrays(interface, plan, given, out, arguments):
    """Whether all arrays are as they must be, and where they are."""
    spans = integers_at(stack_words(ALL_WORDS), ALL_WORDS)
    common, at, inputs = -1, ARRAYS, plan[INPUTS]
    for k in range(inputs + plan[RESULTS]):
        thing = given[k] if k < inputs else result_at(interface, plan, out, k - inputs)
        slot, dimensions = plan[at], plan[at + 1]
        at += 2
        if thing == 0 or not is_array(interface, thing, dimensions, py.READABLE if k < inputs else py.WRITEABLE):
            return False
        shape, size = integers_at(word_at(thing + py.ARRAY_SHAPE), dimensions), 1
        for j in range(dimensions):
            wanted = plan[at + j]
            if wanted < 0:
                common = shape[j] if common < 0 else common
                wanted = common
            if shape[j] != wanted:
                return False
            size *= wanted
        at += dimensions
        begin = word_at(thing + py.ARRAY_DATA)
        end = begin + WORD * size
        arguments[WORDS * slot], arguments[WORDS * slot + 1] = begin, size
        spans[WORDS * k], spans[WORDS * k + 1] = begin, end
        if k >= inputs:  # what is written shares no memory with anything
            for j in range(k):
                if begin < spans[WORDS * j + 1] and spans[WORDS * j] < end:
                    return False
    return True


@exact
def borrowed(interface, plan, new_frame):
    """Address of a frame that nobody uses; NO_FRAME, or NO_RESULT when Python has raised."""
    if plan[IDLE] > 0:
        plan[IDLE] -= 1
        return plan[POOL + plan[IDLE]]
    if plan[MADE] == MOST_FRAMES:
        return NO_FRAME
    made = call_word(interface[py.CALL_NOTHING], (new_frame,))
    if made == 0:
        return NO_RESULT
    frame = call_word(interface[py.INT_OF], (made,))
    call_nothing(interface[py.DROP], (made,))
    plan[MADE] += 1
    return frame


@exact
def evaluated(interface, plan, frame, t, arguments):
    """Run the operation: a code of :mod:`mbkern.core.checks`."""
    if plan[RELEASES] != 0:
        thread = call_word(interface[py.SAVE_THREAD], ())
        code = call_operation(plan[FUNCTION], t, arguments, frame, frame + plan[WORK])
        call_nothing(interface[py.RESTORE_THREAD], (thread,))
    else:
        code = call_operation(plan[FUNCTION], t, arguments, frame, frame + plan[WORK])
    if code == OK and plan[LOSSES] != 0:
        memory, work = array_at(frame, UNKNOWN), array_at(frame + plan[WORK], UNKNOWN)
        limit = get(memory, LOSS_LIMIT)
        if limit > 0.0 and get(work, loss_at(memory)) > limit:
            return LOSSY
    return code


@exact
def attempted(interface, plan, given, t, out, new_frame):
    """A code of :mod:`mbkern.core.checks`, or NO_RESULT when Python has raised."""
    at = stack_words(ALL_WORDS)
    arguments = integers_at(at, ALL_WORDS)
    for k in range(ALL_WORDS):  # optional inputs are not given
        arguments[k] = 0
    if not place_arrays(interface, plan, given, out, arguments):
        return BAD_SHAPE
    frame = borrowed(interface, plan, new_frame)
    if frame < 0:
        return frame if frame == NO_RESULT else BAD_SHAPE
    code = evaluated(interface, plan, frame, t, at)
    plan[POOL + plan[IDLE]] = frame
    plan[IDLE] += 1
    return code


@exact
def explained(interface, explain, code, count, given):
    """What Python makes of it: explain(code, given ...)."""
    number = call_word(interface[py.NEW_INT], (code,))
    if number == 0:
        return 0
    objects = stack_words(ALL_OBJECTS)
    words = integers_at(objects, ALL_OBJECTS)
    words[0] = number
    for k in range(count):
        words[k + 1] = given[k]
    answer = call_word(interface[py.CALL_WITH], (explain, objects, count + 1, intp(0)))
    call_nothing(interface[py.DROP], (number,))
    return answer


@c_function(BUILTIN)
def call(bound, objects, count):
    """Of `count` Python objects, (t, out, inputs ...), the results; see the top of this file. 0 when Python raises."""
    own, given = integers_at(bound + py.ITEMS, 5), integers_at(objects, count)
    plan = integers_at(word_at(own[0] + py.ARRAY_DATA), UNKNOWN)
    interface = integers_at(plan[INTERFACE], UNKNOWN)
    if count != plan[INPUTS] + 2:
        return explained(interface, own[1], BAD_SHAPE, min(count, MOST + 2), given)
    fine, t = number_in(interface, given[0])
    new, out, code = given[1] == interface[py.NONE], given[1], BAD_SHAPE
    if fine and not (new and plan[ANY_SIZE] != 0):
        kept, place, keeps = integers_at(own[4] + py.ITEMS, KEPT), plan[TURN], plan[KEEPS] != 0
        if new:
            if keeps:
                plan[TURN] = KEPT - 1 - place
                out = taken(interface, plan, kept, place)
            else:
                out = new_results(interface, plan)
            if out == 0:
                return 0
        code = attempted(interface, plan, integers_at(objects + 2 * WORD, count), t, out, own[2])
        if code == OK:
            if new and keeps:
                keep(interface, kept, place, out)
            return handed_out(interface, plan, out, new)
        if new:
            call_nothing(interface[py.DROP], (out,))
    return 0 if code == NO_RESULT else explained(interface, own[1], code, count, given)


def function(operation, arrays, inputs, explain, new_frame, *, work=0, releases=False, losses=False, named=None):
    """An operation as a built-in function of Python, run(t, out, inputs ...).

    Parameters
    ----------
    operation : int
        Its address.
    arrays : list of (int, tuple of int)
        Which argument of the operation each array is, and its shape, inputs first.
    inputs : int
        How many of them are inputs.
    explain, new_frame : callable
        explain(code, t, out, inputs ...): what `run` answers when it cannot go on; new_frame(): address of a frame.
    work, releases, losses
        See the top of this file.
    named : class of named tuples, optional
        What `run` returns the numbers of its one result as.
    """
    shapes = [number for slot, shape in arrays for number in (slot, len(shape), *shape)]
    plan = array([0] * ARRAYS + shapes, int64)
    plan[FUNCTION], plan[INPUTS], plan[RESULTS] = operation, inputs, len(arrays) - inputs
    plan[LOSSES], plan[WORK], plan[RELEASES] = losses, work, releases
    plan[NAMED] = 0 if named is None else id(named)
    plan[ANY_SIZE] = any(number < 0 for _, shape in arrays[inputs:] for number in shape)
    plan[INTERFACE] = py.interface().ctypes.data
    numbers = sum(prod(shape) for _, shape in arrays[inputs:])
    plan[KEEPS] = (named is None and not plan[ANY_SIZE] and len(arrays) > inputs and numbers <= MOST_KEPT
                   and py.counts_references())
    return py.builtin(call.address, (plan, explain, new_frame, named, py.empty_places(KEPT)))
