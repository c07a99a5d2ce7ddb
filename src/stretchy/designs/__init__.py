"""How P is stored: the only room that touches big data."""

from stretchy.designs.as_design import as_design as as_design
from stretchy.designs.as_design import measure as measure
from stretchy.designs.as_design import tidy as tidy
from stretchy.designs.protocol import Design as Design
