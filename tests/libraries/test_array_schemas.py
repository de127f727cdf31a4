"""Descriptions for Kubernetes and AWS Batch against the schemas of their makers."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from subsalt.run.arrays import UnitArray, batch_definition, kubernetes_job

pytestmark = pytest.mark.library

MOUNT = Path("/data")
ARRAY = UnitArray("My line_2", MOUNT / "the line.run", 40, 8, 3_000_000_001, 7200)


def test_kubernetes_takes_the_job() -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="not installed (make test-libraries)")
    job = kubernetes_job(ARRAY, "registry/subsalt:0.9", "claim", MOUNT, 12)
    validate.validate(job, validate.latest_version(), strict=True)
    wrong = copy.deepcopy(job)
    wrong["spec"]["backoffLimitPerIndexes"] = 3
    with pytest.raises(Exception, match="backoffLimitPerIndexes"):
        validate.validate(wrong, validate.latest_version(), strict=True)


def test_aws_batch_takes_the_definition() -> None:
    loaders = pytest.importorskip(
        "botocore.loaders", reason="botocore is not installed (make test-libraries)"
    )
    from botocore.model import ServiceModel
    from botocore.validate import ParamValidator

    model = ServiceModel(loaders.Loader().load_service_model("batch", "service-2"))
    shape = model.operation_model("RegisterJobDefinition").input_shape
    definition = batch_definition(ARRAY, "image", "fs-1", MOUNT)
    report = ParamValidator().validate(definition, shape)
    assert not report.has_errors(), report.generate_report()
    wrong = definition | {"retryStrategy": {"attempts": "ten"}}
    assert ParamValidator().validate(wrong, shape).has_errors()
