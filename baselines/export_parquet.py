#!/usr/bin/env python3
"""Writes views of a database of runs as Parquet, for DuckDB, Spark, ClickHouse or pandas.

`plumbline export` calls it; it needs pyarrow and no other file. A file has no name until it is
complete, so a reader sees the old file or the new one, and a killed process leaves no part of one.
This process ends if its caller has ended.
Prints one line of JSON: {"rows": …, "runs": …, "bytes": …} or {"error": …, "remedy": …}.
"""

import argparse
import fcntl
import json
import os
import select
import shutil
import sqlite3
import sys
import tempfile

# Types of columns that are expressions, for which SQLite reports no type or another type.
EXPRESSIONS = {"machine": "TEXT", "machine_class": "TEXT", "build_id": "TEXT", "launched": "TEXT",
               "judged_spec": "TEXT", "declared_spec": "TEXT", "gate_finding": "TEXT",
               "finished": "INTEGER", "accepted": "INTEGER", "is_failure": "INTEGER"}
ROWS_AT_ONCE = 65536  # rows in memory, and per row group of the file


class Refused(Exception):
    """An error that the user can correct: a message and a remedy."""


def end_with_the_caller(caller):
    """Raises Refused if the caller has ended, because its export is no longer needed. The caller
    need not be the parent: the interpreter may be a script that calls another interpreter."""
    if not caller:
        return
    try:
        descriptor = os.pidfd_open(caller)  # readable after the process has ended
    except ProcessLookupError:
        has_ended = True
    except (AttributeError, OSError):  # Python 3.8, Linux 5.2: unknown
        return
    else:
        has_ended = bool(select.select([descriptor], [], [], 0)[0])
        os.close(descriptor)
    if has_ended:
        raise Refused("the plumbline that asked for it has ended", "run it again")


def columns_of(database, view):
    """Returns (name, type) for each column of a view; the type is INTEGER, REAL or TEXT."""
    columns = []
    for _, name, declared, *_ in database.execute(f"PRAGMA table_info({view})"):
        kind = EXPRESSIONS.get(name) or declared.upper()
        if kind not in ("INTEGER", "REAL", "TEXT"):
            raise Refused(f"column {name} of {view} has no type",
                          "name it in EXPRESSIONS of export_parquet.py")
        columns.append((name, kind))
    return columns


def run_ids(database, arguments):
    """Returns the ids of the chosen runs: those listed, or all since a time, oldest first."""
    if arguments.runs:
        return arguments.runs.split(",")
    query = "SELECT run_id FROM v_runs WHERE started_at >= ? ORDER BY run_order"
    return [row[0] for row in database.execute(query, (arguments.since,))]


class PendingFile:
    """A file that gets its name when it is complete. If the file system permits (O_TMPFILE), it has
    no name until then, and Linux removes it with the process. Otherwise its name is
    NAME.partial-PID, and it is locked; the next export to that path removes such files of dead
    processes. Links are followed. A pipe, /dev/stdout and other files that are not regular are
    written in place."""

    def __init__(self, path):
        self._path = os.path.realpath(path)
        self._in_place = os.path.exists(self._path) and not os.path.isfile(self._path)
        folder = tempfile.gettempdir() if self._in_place else os.path.dirname(self._path)
        self._partial = os.path.join(
            folder, f"{os.path.basename(self._path)}.partial-{os.getpid()}")
        self._remove_partials_of_the_dead(folder)
        self._is_named = False
        try:
            os.stat("/proc/self/fd")  # finish() needs it
            descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
        except OSError:  # not supported by the file system, or no room
            descriptor = os.open(self._partial, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC,
                                 0o666)
            self._is_named = True
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        self.file = os.fdopen(descriptor, "wb+")

    def _remove_partials_of_the_dead(self, folder):
        begin = os.path.basename(self._path) + ".partial-"
        for name in os.listdir(folder):
            if not name.startswith(begin):
                continue
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.remove(os.path.join(folder, name))
            except OSError:
                pass  # another process is writing it, or has removed it

    def finish(self):
        """Moves the file to its path and returns its size in bytes."""
        self.file.flush()
        os.fsync(self.file.fileno())
        size = os.fstat(self.file.fileno()).st_size
        if self._in_place:
            self.file.seek(0)
            with open(self._path, "wb") as place:
                shutil.copyfileobj(self.file, place)
            self.discard()
            return size
        if not self._is_named:
            # link() cannot replace a file, but rename() can. With src_dir_fd, Python follows the
            # link in /proc/self/fd.
            descriptors = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY)
            os.link(str(self.file.fileno()), self._partial, src_dir_fd=descriptors)
            os.close(descriptors)
            self._is_named = True
        os.replace(self._partial, self._path)
        self.file.close()
        return size

    def discard(self):
        """Removes the new file; an old one stays."""
        if self._is_named and os.path.exists(self._partial):
            os.remove(self._partial)
        self.file.close()


class ParquetFile:
    """A Parquet file of rows that appears when it is complete."""

    def __init__(self, path, columns, metadata):
        import pyarrow
        import pyarrow.parquet
        self._arrow = pyarrow
        kinds = {"INTEGER": pyarrow.int64(), "REAL": pyarrow.float64(), "TEXT": pyarrow.string()}
        self._schema = pyarrow.schema([(name, kinds[kind]) for name, kind in columns], metadata)
        self._pending = PendingFile(path)
        self._writer = pyarrow.parquet.ParquetWriter(self._pending.file, self._schema,
                                                     compression="zstd")
        self._waiting, self.rows = [], 0

    def add(self, rows):
        """Adds rows, which are tuples in the order of the columns."""
        self._waiting += rows
        while len(self._waiting) >= ROWS_AT_ONCE:
            self._write(self._waiting[:ROWS_AT_ONCE])
            del self._waiting[:ROWS_AT_ONCE]

    def _write(self, rows):
        columns = [self._arrow.array(values, field.type)
                   for field, values in zip(self._schema, zip(*rows))]
        self._writer.write_table(self._arrow.Table.from_arrays(columns, schema=self._schema))
        self.rows += len(rows)

    def finish(self):
        """Moves the file to its path and returns its size in bytes."""
        if self._waiting:
            self._write(self._waiting)
        self._writer.close()
        return self._pending.finish()

    def discard(self):
        """Removes the new file; an old one stays."""
        self._pending.discard()


def export_view(database, view, runs, path, metadata, caller):
    """Writes the rows of a view that belong to the runs; returns their number and bytes."""
    columns = columns_of(database, view)
    names = ", ".join(f'"{name}"' for name, _ in columns)
    order = "suite, case_id" if view == "v_history" else "machine_class"
    try:
        file = ParquetFile(path, columns, metadata)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror or error}", "name a file in a folder with room"
                      ) from error
    try:
        for run in runs:
            end_with_the_caller(caller)
            file.add(database.execute(
                f"SELECT {names} FROM {view} WHERE run_id = ? ORDER BY {order}", (run,)).fetchall())
        size = file.finish()
    except OSError as error:
        file.discard()
        raise Refused(f"{path}: {error.strerror or error}", "name a file in a folder with room"
                      ) from error
    except BaseException:
        file.discard()
        raise
    return file.rows, size


def export(arguments):
    """Exports the chosen runs and returns the result for the user."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise Refused(f"{sys.executable} has no pyarrow, which writes Parquet",
                      "run ci/setup.sh --python, or set PLUMBLINE_PYTHON to an interpreter that "
                      "has it (pip install pyarrow)") from error
    database = sqlite3.connect(f"file:{arguments.db}?mode=ro", uri=True)
    runs = run_ids(database, arguments)
    if not runs:
        raise Refused(f"no run of the database began at or after {arguments.since}",
                      "see `plumbline query runs`")
    version = database.execute("PRAGMA user_version").fetchone()[0]
    metadata = {"plumbline.schema": str(version), "plumbline.view": "v_history"}
    rows, size = export_view(database, "v_history", runs, arguments.parquet, metadata,
                             arguments.caller)
    told = {"rows": rows, "runs": len(runs), "bytes": size}
    if arguments.nights:
        metadata = {**metadata, "plumbline.view": "v_night_times"}
        told["night_rows"], _ = export_view(database, "v_night_times", runs, arguments.nights,
                                            metadata, arguments.caller)
    return told


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--db", required=True, help="a database of runs; only read")
    parser.add_argument("--parquet", required=True, help="file for the rows of v_history")
    parser.add_argument("--nights", help="file for the rows of v_night_times")
    parser.add_argument("--runs", help="run ids, separated by commas")
    parser.add_argument("--caller", type=int, help="process that asks, with which this one ends")
    parser.add_argument("--since", default="", help="runs that began then or later: 2027-01-31")
    try:
        told, code = export(parser.parse_args()), 0
    except Refused as refused:
        told, code = {"error": refused.args[0], "remedy": refused.args[1]}, 3
    except sqlite3.Error as error:
        told, code = {"error": f"reading the database: {error}",
                      "remedy": "use a Python whose sqlite3 is 3.38 or newer"}, 3
    print(json.dumps(told))
    return code


if __name__ == "__main__":
    sys.exit(main())
