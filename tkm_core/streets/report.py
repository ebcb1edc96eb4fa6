"""Report on a road file that was read, in sentences for planners."""

from dataclasses import dataclass, field

from tkm_core.wording import counted


@dataclass
class StreetsReport:
    """What was read, kept and cut off.

    Attributes
    ----------
    file_format : str
        "OpenStreetMap (.osm.pbf)", "GeoPackage" ...
    mode : str
        A mode of rules.toml: "walk".
    ways_read, ways_used : int
        Streets in the file, and those open to the mode.
    junctions, edges : int
        Size of the network.
    km : float
        Length of its streets.
    parts_cut_off, junctions_cut_off, km_cut_off :
        What is left out because it cannot be reached from the rest, or the rest from it.
    unknown_limits : dict
        Speed limits that could not be understood, with how often they occur.
    warnings, notes : list of str
        What the planner should check, and what is good to know.
    columns : tuple of str
        Columns of a layer of lines that can be chosen as the class, direction and speed of a street.
    """

    file_format: str
    mode: str
    ways_read: int
    ways_used: int
    junctions: int
    edges: int
    km: float
    parts_cut_off: int
    junctions_cut_off: int
    km_cut_off: float
    unknown_limits: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        share = self.km_cut_off / max(self.km + self.km_cut_off, 1e-9)
        if share > 0.2:
            self.warnings.append(
                f"{share:.0%} of the streets are not connected to the rest and are left out. Lines only meet where "
                "they share a point: check that the streets are joined at crossings."
            )
        if self.unknown_limits:
            shown = ", ".join(f"“{text}”" for text in list(self.unknown_limits)[:3])
            many = sum(self.unknown_limits.values())
            self.notes.append(
                f"{counted(many, 'speed limit')} could not be understood ({shown}); "
                "the usual speed of the class is taken."
            )

    def __str__(self) -> str:
        read = f"{counted(self.ways_read, 'street')} read, {self.ways_used:,} open to the mode “{self.mode}”"
        lines = [
            f"{self.file_format}: {read}.",
            f"The network has {counted(self.junctions, 'junction')} and {self.km:,.0f} km of streets.",
        ]
        if self.parts_cut_off:
            lines.append(
                f"Left out: {counted(self.parts_cut_off, 'part')} with {self.km_cut_off:,.1f} km of streets "
                "that cannot be reached from the rest, or from which the rest cannot be reached."
            )
        return "\n".join(lines + self.warnings + self.notes)
