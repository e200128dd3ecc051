"""A switch without a controller, whose rules are given to it by hand."""
import os

import evenflow


class Alone(evenflow.Switch):
    """An evenflow.Switch that dials nobody and forwards nothing by itself."""

    @classmethod
    def batchStartup(cls, switches):
        for switch in switches:
            switch.vsctl("set", "bridge", switch.name, "external_ids:controller=none")  # returns when the bridge is there
        return switches

    def become(self, rules):
        """Have these rules, as ovs-ofctl writes them, and no others: in one transaction, and none is touched that stays."""
        path = os.path.join(self.dir, "rules")
        with open(path, "w", encoding="ascii") as out:
            out.write("".join(rule + "\n" for rule in rules))
        self.ofctl("replace-flows", path, "--bundle")
