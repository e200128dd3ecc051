"""A VIP as an operator sees it: declared, changed and read over REST."""
import time


class Failure(Exception):
    """What was to be shown did not come true."""


def say(text):
    print(text, flush=True)


class Service:
    """A VIP for TCP, in the default mode if its fields do not say another, on backends whose names stand for hosts of Mininet."""

    def __init__(self, controller, name, address, port, backend_port, hosts, **fields):
        self.controller, self.name, self.backend_port, self.fields = controller, name, backend_port, fields
        self.address, self.port = address, port
        self.addresses = {host.name: host.IP() for host in hosts}

    @property
    def url(self):
        return "http://%s:%d/" % (self.address, self.port)

    def backend(self, name, **fields):
        return dict(fields, name=name, address=self.addresses[name], port=self.backend_port)

    def declare(self, names, **fields):
        """Declare it on some of the backends, each with these fields; they are up when this returns."""
        self.controller.call("POST", "/api/v1/vips?wait=30s", dict(
            self.fields, name=self.name, address=self.address, protocol="tcp", port=self.port,
            backends=[self.backend(name, **fields) for name in names]))
        self.await_states(dict.fromkeys(names, "up"))

    def alter(self, **fields):
        """Change fields of the VIP; every switch has confirmed it when this returns."""
        self.controller.call("PATCH", "/api/v1/vips/%s?wait=30s" % self.name, fields)

    def delete(self):
        self.controller.call("DELETE", "/api/v1/vips/%s?wait=30s" % self.name)

    def add(self, name, **fields):
        """Add a backend; it is up when this returns."""
        self.change("POST", "", self.backend(name, **fields))
        self.await_states({name: "up"})

    def remove(self, name):
        self.change("DELETE", "/" + name)

    def set(self, name, **fields):
        """Change fields of a backend."""
        self.change("PATCH", "/" + name, fields)

    def change(self, method, path, body=None):
        """Change the backends; every switch has confirmed it when this returns."""
        self.controller.call(method, "/api/v1/vips/%s/backends%s?wait=30s" % (self.name, path), body)

    def read(self):
        return self.controller.call("GET", "/api/v1/vips/" + self.name)

    def await_states(self, wanted):
        """Wait until these backends are in these states ({name: state}); return the seconds it took."""
        begin, seen = time.monotonic(), {}

        def check():
            seen.clear()
            seen.update((b["name"], b["state"]) for b in self.read()["status"]["backends"])
            return wanted.items() <= seen.items()

        try:
            self.controller.await_("the backends to be %s" % wanted, check)
        except RuntimeError as problem:
            raise Failure("%s; they are %s" % (problem, seen)) from problem
        return time.monotonic() - begin
