"""The SBOM: CycloneDX 1.6 in JSON, made and validated by cyclonedx-python-lib."""
import uuid
from typing import Optional, Sequence

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component as Part
from cyclonedx.model.component import ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from texts import Component


def _licence(expression: str):
    if expression.startswith("LicenseRef-"):  # not in SPDX's list, so by name
        return DisjunctiveLicense(name=expression.partition("-")[2])
    return LicenseFactory().make_from_string(expression)


def _part(component: Component) -> Part:
    return Part(type=ComponentType.LIBRARY, name=component.library.name, version=component.version,
                bom_ref=component.library.name, purl=PackageURL.from_string(component.purl),
                licenses=[_licence(component.library.licence)])


def sbom(name: str, version: str, components: Sequence[Component]) -> str:
    """Returns the SBOM of the wheel or bundle `name`, whose parts are `components`. The same
    name, version and parts give the same serial number."""
    parts = [_part(component) for component in components]
    root = Part(type=ComponentType.LIBRARY, name=name, version=version, bom_ref=name,
                licenses=[_licence("Apache-2.0")])
    key = "\n".join([name, version, *sorted(component.purl for component in components)])
    bom = Bom(components=parts, serial_number=uuid.uuid5(uuid.NAMESPACE_OID, key))
    bom.metadata.component = root
    bom.register_dependency(root, parts)
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def errors_of(text: str) -> Optional[str]:
    """Returns the error of CycloneDX's schema; None if the text is valid."""
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    return None if error is None else str(error)
