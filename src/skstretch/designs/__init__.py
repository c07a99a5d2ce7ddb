"""How P is stored: the only room that touches big data."""

from skstretch.designs.as_design import as_design as as_design
from skstretch.designs.as_design import measure as measure
from skstretch.designs.as_design import storage_of as storage_of
from skstretch.designs.as_design import tidy as tidy
from skstretch.designs.dask.array import DaskArray as DaskArray
from skstretch.designs.dask.array import DaskPlan as DaskPlan
from skstretch.designs.dask.array import check_known as check_known
from skstretch.designs.dask.array import computed_rows as computed_rows
from skstretch.designs.dask.array import dask_plan as dask_plan
from skstretch.designs.dask.array import is_dask as is_dask
from skstretch.designs.dask.design import WideDesign as WideDesign
from skstretch.designs.dask.lazy import lazily as lazily
from skstretch.designs.dask.lazy import lazy_outputs as lazy_outputs
from skstretch.designs.dask.survey import dask_survey as dask_survey
from skstretch.designs.protocol import Design as Design
from skstretch.designs.source import Meter as Meter
from skstretch.designs.source import Source as Source
from skstretch.designs.source import is_source as is_source
from skstretch.designs.survey import Ready as Ready
from skstretch.designs.survey import Wanted as Wanted
from skstretch.designs.survey import survey as survey
from skstretch.designs.survey import with_one_sum as with_one_sum
