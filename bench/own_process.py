"""Work in a process of its own, which is ended if it hangs, dies or is late, with the reason in words."""
import multiprocessing
import os
import signal
import time


class LeftOut(Exception):
    """Why something is not measured, in words for the record."""


class OwnProcess:
    """work(send, receive, ...) in a process of its own, which can be ended whatever it hangs in, with those it started."""
    running = []

    def __init__(self, work, *arguments):
        fork = multiprocessing.get_context("fork")  # arrays are there at once, and no library that minds is loaded yet
        self.began = time.perf_counter()
        self.pipe, theirs = fork.Pipe()
        self.process = fork.Process(target=self.begin, args=(theirs, work, arguments))
        self.process.start()
        theirs.close()
        OwnProcess.running.append(self)

    @staticmethod
    def begin(pipe, work, arguments):
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            work(lambda what: pipe.send((what, None)), pipe.recv, *arguments)
        except EOFError:
            pass  # nobody asks any more
        except BaseException as error:  # whatever a library may throw is the result
            pipe.send((None, reason(error)))
        os._exit(0)  # libraries may wait for ever for what they started

    def ask(self, question):
        self.pipe.send(question)

    def receive(self, until):
        """What it sends next. Late, dead or failed, it is ended."""
        why = None
        if not self.pipe.poll(max(until - time.perf_counter(), 0)):
            why = f"not ready after {time.perf_counter() - self.began:.0f} s"
        else:
            try:
                what, why = self.pipe.recv()
            except EOFError:
                self.process.join(5)
                code = self.process.exitcode
                why = f"ended by signal {-code}" if code is not None and code < 0 else f"ended with status {code}"
        if why:
            self.end()
            raise LeftOut(why)
        return what

    def end(self):
        if self not in OwnProcess.running:
            return
        OwnProcess.running.remove(self)
        for kill in (os.killpg, os.kill):  # it may not have a group yet
            try:
                kill(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.join(5)

    @staticmethod
    def end_all():
        for process in list(OwnProcess.running):
            process.end()


def reason(error):
    """In one line."""
    text = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:200]}" if text else type(error).__name__
