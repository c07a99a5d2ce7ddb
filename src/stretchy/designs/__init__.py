"""How P is stored: the only room that touches big data."""

from stretchy.designs.as_design import as_design as as_design
from stretchy.designs.as_design import measure as measure
from stretchy.designs.as_design import tidy as tidy
from stretchy.designs.meter import Meter as Meter
from stretchy.designs.protocol import Design as Design
from stretchy.designs.source import Source as Source
from stretchy.designs.source import is_source as is_source
from stretchy.designs.storage import storage_of as storage_of
from stretchy.designs.survey import Ready as Ready
from stretchy.designs.survey import Wanted as Wanted
from stretchy.designs.survey import survey as survey
