"""Work in a process of its own, which is ended if it hangs, dies or is late, with the reason in words."""
import contextlib
import ctypes
import math
import multiprocessing
import os
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


class LeftOut(Exception):
    """Why something is not measured, in words for the record."""


class Terminated(Exception):
    """Someone wants this process to end (SIGTERM): what there is can still be written."""


def raise_when_terminated():
    """The first time; who goes on after that is not disturbed again."""
    def stop(number, frame):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated("ended from outside (SIGTERM)")
    signal.signal(signal.SIGTERM, stop)


def memory_left():
    """Gigabytes of the host's."""
    try:
        with open("/proc/meminfo") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) / 1e6
    except (OSError, StopIteration):
        return math.inf


class OwnProcess:
    """work(send, receive, ...) in a process of its own, which can be ended whatever it hangs in, with those it started.

    It also ends when this one does, however that comes about (on Linux).
    """
    running = []

    def __init__(self, work, *arguments):
        fork = multiprocessing.get_context("fork")  # arrays are there at once, and no library that minds is loaded yet
        self.began, self.paused = time.perf_counter(), False
        self.pipe, theirs = fork.Pipe()
        self.process = fork.Process(target=self.begin, args=(os.getpid(), theirs, work, arguments))
        self.process.start()
        theirs.close()
        OwnProcess.running.append(self)

    def begin(self, parent, pipe, work, arguments):
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if LIBC:
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(0)
        for other in (self, *OwnProcess.running):  # else none of them would see that nobody asks any more
            other.pipe.close()
        try:
            work(lambda what: pipe.send((what, None)), pipe.recv, *arguments)
        except EOFError:
            pass  # nobody asks any more
        except BaseException as error:  # whatever a library may throw is the result
            pipe.send((None, reason(error)))
        os._exit(0)  # libraries may wait for ever for what they started

    def ask(self, question):
        try:
            self.pipe.send(question)
        except OSError:
            pass  # it is dead, and receive() says so

    def receive(self, until):
        """What it sends next. Late, dead or failed, it is ended."""
        why = None
        try:
            if not self.pipe.poll(max(until - time.perf_counter(), 0)):
                why = f"not ready after {time.perf_counter() - self.began:.0f} s"
            else:
                what, why = self.pipe.recv()
        except (EOFError, ConnectionError):
            self.process.join(5)
            code = self.process.exitcode
            why = f"ended by signal {-code}" if code is not None and code < 0 else f"ended with status {code}"
        if why:
            self.end()
            raise LeftOut(why)
        return what

    def pause(self, on=True):
        """Whatever it does stands still, with those it started; on=False: it goes on."""
        if self in OwnProcess.running and on != self.paused:
            self.paused = on
            self.signal(signal.SIGSTOP if on else signal.SIGCONT)

    def signal(self, number):
        for kill in (os.killpg, os.kill):  # it may not have a group yet
            with contextlib.suppress(ProcessLookupError):
                kill(self.process.pid, number)
                if number != signal.SIGKILL:
                    return

    def end(self):
        if self not in OwnProcess.running:
            return
        OwnProcess.running.remove(self)
        self.signal(signal.SIGKILL)
        self.process.join(5)

    @staticmethod
    def end_all():
        for process in OwnProcess.running:  # all at once: who frees a lot of memory takes a while
            process.signal(signal.SIGKILL)
        for process in list(OwnProcess.running):
            process.end()


def reason(error):
    """In one line."""
    text = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:200]}" if text else type(error).__name__
