"""Traffic between Mininet hosts, as a demo or test sees it: traffic.py is what runs in the hosts."""
import collections
import json
import os
import threading

import evenflow

TRAFFIC = os.path.join(evenflow.HERE, "traffic.py")


def traffic(*args):
    return ["/usr/bin/python3", TRAFFIC] + [str(a) for a in args]


class Servers:
    """A web server on each of some hosts, under the host's name."""

    def __init__(self, hosts, port):
        self.processes = []
        for host in hosts:
            log = os.path.join(evenflow.run_dir(), host.name + ".log")
            self.processes.append(evenflow.start_in(host, traffic("serve", host.name, port), log))
        for host in hosts:
            ready = "for i in $(seq 300); do ss -Hltn sport = :%d | grep -q . && echo up && break; sleep 0.1; done" % port
            if "up" not in host.cmd(ready):
                self.stop()
                raise RuntimeError("the web server on %s does not listen" % host.name)

    def stop(self):
        for process in self.processes:
            evenflow.end(process)


class Fetching:
    """Hosts that fetch a URL, each page over a new connection, from port `first` upward unless it is 0: `each` times, or
    until finish is called when that is 0."""

    def __init__(self, hosts, url, each=0, first=0):
        self.each = each
        self.processes = [evenflow.popen_in(host, traffic("fetch", url, each, first)) for host in hosts]

    def finish(self):
        """What came of it: {name: [answers, failures]}, "" for no answer at all, and what the failures were."""
        result, errors = collections.defaultdict(lambda: [0, 0]), []
        if not self.each:
            for process in self.processes:
                process.terminate()
        for process in self.processes:
            out, err = process.communicate(timeout=evenflow.LIMIT + 6 * self.each)
            if process.returncode:
                raise RuntimeError("a client ended with code %d: %s" % (process.returncode, err.decode(errors="replace")))
            told = json.loads(out)
            for column, key in enumerate(("answers", "failed")):
                for name, count in told[key].items():
                    result[name][column] += count
            errors += told["errors"]
        return dict(result), errors


class Reporting:
    """A program in a host that reports, round after round, what has become of the connections it holds, as `traffic.py hold` does."""

    def __init__(self, host, argv):
        self.process = evenflow.popen_in(host, argv)
        self.lines, self.news = [], threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stdout:
            with self.news:
                self.lines.append(line)
                self.news.notify_all()

    def report(self):
        """The first round that began after this call: {"alive": …, "broken": …, "errors": …}, see traffic.py."""
        with self.news:
            wanted = len(self.lines) + (2 if self.lines else 1)
            if not self.news.wait_for(lambda: len(self.lines) >= wanted, 2 * evenflow.LIMIT):
                raise RuntimeError("connections that are held do not report: exit code %s" % self.process.poll())
            return json.loads(self.lines[wanted - 1])

    def stop(self):
        evenflow.end(self.process)


class Held(Reporting):
    """Connections of a host to a URL that stay open, with requests on each of them all the time; from port `first` upward
    unless it is 0."""

    def __init__(self, host, url, count, first=0):
        Reporting.__init__(self, host, traffic("hold", url, count, first))


def reports(all_held):
    """The reports of several, added up: ({name: alive}, {name: {kind: broken}}, errors)."""
    alive, broken, errors = collections.Counter(), collections.defaultdict(collections.Counter), []
    for held in all_held:
        told = held.report()
        alive.update(told["alive"])
        for name, kinds in told["broken"].items():
            broken[name].update(kinds)
        errors += told["errors"]
    return alive, broken, errors
