"""How P is stored: the only room that touches big data."""

from stretchy.designs.as_design import as_design as as_design
from stretchy.designs.as_design import measure as measure
from stretchy.designs.as_design import tidy as tidy
from stretchy.designs.dask_array import DaskArray as DaskArray
from stretchy.designs.dask_array import check_known as check_known
from stretchy.designs.dask_array import computed_rows as computed_rows
from stretchy.designs.dask_array import is_dask as is_dask
from stretchy.designs.dask_lazy import lazily as lazily
from stretchy.designs.dask_lazy import lazy_outputs as lazy_outputs
from stretchy.designs.dask_plan import DaskPlan as DaskPlan
from stretchy.designs.dask_plan import dask_plan as dask_plan
from stretchy.designs.dask_survey import dask_survey as dask_survey
from stretchy.designs.dask_wide import WideDesign as WideDesign
from stretchy.designs.meter import Meter as Meter
from stretchy.designs.protocol import Design as Design
from stretchy.designs.source import Source as Source
from stretchy.designs.source import is_source as is_source
from stretchy.designs.storage import storage_of as storage_of
from stretchy.designs.survey import Ready as Ready
from stretchy.designs.survey import Wanted as Wanted
from stretchy.designs.survey import survey as survey
from stretchy.designs.survey import with_one_sum as with_one_sum
