"""The shared libraries by way of ctypes: where they are, what is in them, and their errors as exceptions.

The declarations below are those of the headers, letter by letter (tests/python/test_declarations.py compares), and no struct is
among them: handles are pointers, and results come as numbers, texts and JSON.
"""
from __future__ import annotations

import ctypes
import enum
import json
import os
import pathlib
import re
import threading
from typing import Any

DECLARATIONS = {
    "tithe": """
        const char *tithe_version(void);
        const char *tithe_kernels_name(void);
        tithe_error *tithe_error_create(void);
        tithe_status tithe_error_code(const tithe_error *error);
        size_t tithe_error_position(const tithe_error *error);
        const char *tithe_error_sentence(const tithe_error *error);
        void tithe_error_set(tithe_error *error, tithe_status code, const char *sentence);
        void tithe_text_free(char *text);
        tithe_status tithe_coder_open(const char *options, tithe_coder **coder, tithe_error *error);
        tithe_status tithe_coder_of_frame(const uint8_t *frame, size_t length, const char *options, tithe_coder **coder, size_t *n, tithe_error *error);
        void tithe_coder_free(tithe_coder *coder);
        const tithe_codec *tithe_coder_codec(const tithe_coder *coder);
        char *tithe_coder_claims(const tithe_coder *coder, size_t n);
        tithe_status tithe_coder_encode(tithe_coder *coder, uint32_t step, const void *x, size_t n, uint8_t *frame, size_t capacity, size_t *length, tithe_error *error);
        tithe_status tithe_coder_decode_add(tithe_coder *coder, const uint8_t *frame, size_t length, double scale, void *y, size_t n, tithe_error *error);
        const char *tithe_codec_spec(const tithe_codec *codec);
        tithe_type tithe_codec_type(const tithe_codec *codec);
        size_t tithe_codec_bound(const tithe_codec *codec, size_t n);
        size_t tithe_codec_length(const tithe_codec *codec, size_t n, size_t entries, tithe_form form);
        tithe_status tithe_plan_ask(const char *options, char **answered, tithe_error *error);
        tithe_status tithe_comm_local(unsigned size, tithe_comm **comm, tithe_error *error);
        void tithe_comm_free(tithe_comm *comm);
        unsigned tithe_comm_size(const tithe_comm *comm);
        unsigned tithe_comm_rank(const tithe_comm *comm);
        unsigned tithe_comm_local_ranks(const tithe_comm *comm);
        const char *tithe_comm_transport(const tithe_comm *comm);
        uint64_t tithe_comm_sent_bytes(const tithe_comm *comm);
        uint64_t tithe_comm_sent_messages(const tithe_comm *comm);
        void tithe_comm_set_timeout(tithe_comm *comm, double seconds);
        void tithe_comm_give_up(tithe_comm *comm, const char *why);
        tithe_status tithe_serve(tithe_comm *comm, tithe_error *error);
        tithe_status tithe_exchange_open_layers(tithe_comm *comm, const char *options, const size_t *layers, size_t layer_count, tithe_exchange **ex, tithe_error *error);
        void tithe_exchange_free(tithe_exchange *ex);
        tithe_status tithe_exchange_put(tithe_exchange *ex, unsigned rank, unsigned lane, const float *g, double gamma, tithe_error *error);
        tithe_status tithe_exchange_put_layers(tithe_exchange *ex, unsigned rank, unsigned lane, const size_t *layers, size_t count, const float *g, double gamma, tithe_error *error);
        tithe_status tithe_exchange_copy_layers(const tithe_exchange *ex, const float *vector, const size_t *layers, size_t count, float *g, tithe_error *error);
        tithe_status tithe_exchange_finish(tithe_exchange *ex, float *update, tithe_error *error);
        tithe_status tithe_exchange_step(tithe_exchange *ex, float *g, double gamma, tithe_error *error);
        tithe_status tithe_mean(float *sum, size_t n, unsigned ranks, tithe_error *error);
        tithe_status tithe_exchange_switch_scheme(tithe_exchange *ex, const char *scheme, const char *collective, tithe_error *error);
        char *tithe_exchange_describe(const tithe_exchange *ex);
        float *tithe_exchange_residual(tithe_exchange *ex, unsigned rank);
        float *tithe_exchange_aggregate(tithe_exchange *ex);
        float *tithe_exchange_server_residual(tithe_exchange *ex);
        size_t tithe_exchange_learned(const tithe_exchange *ex, double *numbers);
        void tithe_exchange_relearn(tithe_exchange *ex, const double *numbers);
        size_t tithe_exchange_steered(const tithe_exchange *ex, double *numbers);
        tithe_status tithe_exchange_steer_on(tithe_exchange *ex, const double *numbers, size_t count, uint32_t step, tithe_error *error);
        float *tithe_exchange_before(tithe_exchange *ex);
        float *tithe_exchange_momentum(tithe_exchange *ex, unsigned rank);
        float *tithe_exchange_direction(tithe_exchange *ex);
        float *tithe_exchange_moved(tithe_exchange *ex, unsigned rank, unsigned bucket, size_t *count);
        size_t tithe_exchange_owned(const tithe_exchange *ex, unsigned rank, unsigned bucket, size_t *begin);
        unsigned tithe_exchange_buckets(const tithe_exchange *ex);
        void tithe_exchange_continue(tithe_exchange *ex, uint32_t step, const tithe_exchange_totals *totals, const tithe_exchange_record *last);
        tithe_status tithe_outer_open(tithe_exchange *ex, const char *options, tithe_outer **outer, tithe_error *error);
        void tithe_outer_free(tithe_outer *outer);
        tithe_status tithe_outer_begin(tithe_outer *outer, const float *const *layers, tithe_error *error);
        tithe_status tithe_outer_put(tithe_outer *outer, unsigned rank, const float *const *layers, tithe_error *error);
        tithe_status tithe_outer_exchange(tithe_outer *outer, tithe_error *error);
        tithe_status tithe_outer_get(tithe_outer *outer, unsigned rank, float *const *layers, tithe_error *error);
        tithe_status tithe_outer_go_on(tithe_outer *outer, unsigned rank, float *const *layers, tithe_error *error);
        float *tithe_outer_shared(tithe_outer *outer);
        float *tithe_outer_momentum(tithe_outer *outer);
        float *tithe_outer_start(tithe_outer *outer, unsigned rank);
        tithe_status tithe_outer_start_at(tithe_outer *outer, unsigned rank, const float *start, tithe_error *error);
    """,
    "tithe_zmq": """
        tithe_status tithe_comm_zmq_open(const char *text, tithe_comm **comm, tithe_error *error);
    """,
    "tithe_mpi": """
        tithe_status tithe_comm_mpi(const void *mpi_comm, tithe_comm **comm, tithe_error *error);
        tithe_status tithe_comm_mpi_fortran(const int *mpi_fint, tithe_comm **comm, tithe_error *error);
    """,
}


# ---- what went wrong ----------------------------------------------------------------------------------------------

class Status(enum.IntEnum):
    """What a function of the library returns (status.h)."""
    OK = 0
    ARGUMENT = 1
    SPEC = 2
    NONFINITE = 3
    RANGE = 4
    SPACE = 5
    CORRUPT = 6
    MISMATCH = 7
    MEMORY = 8
    FILE = 9
    DATA = 10
    DIVERGED = 11
    TIMEOUT = 12
    PEER = 13
    STOPPED = 14
    SKIPPED = 15


class Error(RuntimeError):
    """Whatever the library refuses: its text is the library's own sentence, which says what to do."""

    def __init__(self, sentence: str, status: Status = Status.ARGUMENT, position: int = 0) -> None:
        super().__init__(sentence)
        self.status = status
        self.position = position


class SpecError(Error, ValueError):
    """An option, a spec or an argument that cannot be."""


class NonfiniteError(Error, ArithmeticError):
    """A NaN or an infinity; `position` says where."""


class SkippedError(Error):
    """A step that all ranks leave out, because of a NaN or an infinity on one of them (on_nonfinite="skip")."""


class MismatchError(Error):
    """Ranks that were not started alike."""


class PeerError(Error):
    """Another rank failed, went away, or did not answer in time; the sentence names it."""


class MissingLibrary(Error, ImportError):
    """A shared library is not where it was looked for."""


_KINDS: dict[int, type[Error]] = {
    Status.ARGUMENT: SpecError, Status.SPEC: SpecError, Status.NONFINITE: NonfiniteError, Status.MISMATCH: MismatchError,
    Status.TIMEOUT: PeerError, Status.PEER: PeerError, Status.SKIPPED: SkippedError,
}


def error(status: int, sentence: str, position: int = 0) -> Error:
    """The exception that stands for a status."""
    return _KINDS.get(status, Error)(sentence, Status(status), position)


# ---- where they are -----------------------------------------------------------------------------------------------

def _places() -> list[pathlib.Path]:
    """Folders to look in before the system is asked: what TITHE_LIBRARIES says, the package itself (a wheel), a build tree."""
    here = pathlib.Path(__file__).resolve().parent
    named = os.environ.get("TITHE_LIBRARIES")
    return ([pathlib.Path(named)] if named else []) + [here / "lib", here.parent.parent / "build"]


def _load(name: str) -> ctypes.CDLL:
    file = f"lib{name}.so.0"
    for place in _places():
        if (place / file).exists():
            return ctypes.CDLL(str(place / file))
    try:
        return ctypes.CDLL(file)
    except OSError as why:
        looked = ", ".join(str(place) for place in _places())
        raise MissingLibrary(f"{file} is neither in {looked} nor known to the system ({why}): build Tithe, or set TITHE_LIBRARIES to "
                             "the folder that has it.", Status.FILE) from None


# ---- what is in them ----------------------------------------------------------------------------------------------

_NUMBERS = {
    "size_t": ctypes.c_size_t, "unsigned": ctypes.c_uint, "double": ctypes.c_double, "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64, "tithe_status": ctypes.c_int, "tithe_type": ctypes.c_int, "tithe_form": ctypes.c_int, "void": None,
}


def _type(text: str) -> Any:
    """Of an argument or a result: texts that are read, numbers, and pointers to anything else."""
    words = text.replace("*", " * ").split()
    if words[:3] == ["const", "char", "*"] and words.count("*") == 1:
        return ctypes.c_char_p
    if "*" in words:
        return ctypes.c_void_p
    return _NUMBERS[words[0]]


def _declare(library: ctypes.CDLL, declarations: str) -> None:
    for result, name, arguments in re.findall(r"(\S.*?)(\w+)\(([^)]*)\);", declarations):
        function = getattr(library, name, None)
        if function is None:
            raise MissingLibrary(f"{library._name} is of another version, without {name}: take the one that belongs to this package.", Status.FILE)
        function.restype = _type(result)
        function.argtypes = [] if arguments == "void" else [_type(argument) for argument in arguments.split(",")]


_loaded: dict[str, ctypes.CDLL] = {}
_lock = threading.Lock()
_own = threading.local()


def library(name: str = "tithe") -> ctypes.CDLL:
    """One of the libraries, with its functions declared; loaded when it is asked for."""
    with _lock:
        if name not in _loaded:
            if name != "tithe" and "tithe" not in _loaded:
                _loaded["tithe"] = _load("tithe")
                _declare(_loaded["tithe"], DECLARATIONS["tithe"])
            made = _load(name)
            _declare(made, DECLARATIONS[name])
            _loaded[name] = made
        return _loaded[name]


def call(name: str, *arguments: Any, of: str = "tithe") -> None:
    """A function whose last argument is an error: raises what it says. The GIL is free while it runs."""
    if not hasattr(_own, "error"):
        _own.error = library().tithe_error_create()  # one for each thread, for good
    status = getattr(library(of), name)(*arguments, _own.error)
    if status:
        raise error(status, library().tithe_error_sentence(_own.error).decode("utf-8", "replace"),
                    library().tithe_error_position(_own.error))


def taken(text: int | None) -> Any:
    """The JSON that the library has made for us."""
    if not text:
        raise error(Status.MEMORY, "There is not enough memory.")
    try:
        return json.loads(ctypes.string_at(text))
    finally:
        library().tithe_text_free(text)


def options(text: str, named: dict[str, Any]) -> bytes:
    """'key=value;key=value' from a text and keyword arguments: None is left out, an underscore is a hyphen."""
    pieces = [text] if text else []
    for key, value in named.items():
        if value is None:
            continue
        word = ("yes" if value else "no") if isinstance(value, bool) else str(value)
        if ";" in word or "\0" in word:
            raise SpecError(f"{key} has a character that no option may have: {word!r}.", Status.SPEC)
        pieces.append(f"{key.replace('_', '-')}={word}")
    return ";".join(pieces).encode()
