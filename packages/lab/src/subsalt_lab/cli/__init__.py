"""The commands `subsalt lab`: importing a module of sub-commands registers them."""

from subsalt_lab.cli import barriers as barriers
from subsalt_lab.cli import checkpoint as checkpoint
from subsalt_lab.cli import collectives as collectives
from subsalt_lab.cli import io as io
from subsalt_lab.cli import machine as machine
from subsalt_lab.cli import model as model
from subsalt_lab.cli import network as network
from subsalt_lab.cli import profile as profile
from subsalt_lab.cli import scaling as scaling
from subsalt_lab.cli import storage as storage
from subsalt_lab.cli.lab import lab as lab
