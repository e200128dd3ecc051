"""A trial: something that is shown on a network of its own, and told in one line."""
import contextlib
import http.client
import os
import subprocess

import evenflow
from mininet.log import setLogLevel
from service import Failure, say


@contextlib.contextmanager
def started(net):
    """Run a network meanwhile. What is appended to the list that this gives is stopped before the network, the last first.

    Where it fails, the end of evenflow's log is said.
    """
    running = []
    try:
        net.start()
        yield running
    except Exception:
        say("--- the end of evenflow's log\n%s---" % net.controllers[0].tail())
        raise
    finally:
        with evenflow.undisturbed():
            for each in reversed(running):
                each.stop()
            net.stop()


def no_errors(controller):
    """Fail if the controller has logged errors."""
    if controller.errors():
        raise Failure("the controller has logged errors: " + "; ".join(controller.errors()[:3]))


def tell(name, show):
    """Say what show() has shown, or why it failed, in one line; return the exit status."""
    setLogLevel("error")
    evenflow.signals_interrupt()
    try:
        if os.geteuid() != 0:
            raise Failure("it needs root")
        say("%s: ok %s" % (name, show()))
        return 0
    except KeyboardInterrupt as signalled:
        say("%s: FAILED interrupted by %s" % (name, signalled))
    except (Failure, RuntimeError, OSError, http.client.HTTPException, subprocess.SubprocessError, KeyError, ValueError) as problem:
        say("%s: FAILED %s" % (name, problem))
    return 1
