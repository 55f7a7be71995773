"""The files and test runs of the example conversation, written from the story's resources."""

from example_story import RESOURCES, Resource

_TYPES = {"str": "String(200)", "int": "Integer", "bool": "Boolean", "date": "Date", "datetime": "DateTime"}


def model_source(resource: Resource) -> str:
    """The table and the schemas of a resource."""
    title = resource.single.capitalize()
    columns = "\n".join(
        f"    {name}: Mapped[{kind}] = mapped_column({_TYPES[kind]})  # {meaning}"
        for name, kind, meaning in resource.fields
    )
    schema = "\n".join(f"    {name}: {kind}" for name, kind, _ in resource.fields)
    optional = "\n".join(f"    {name}: {kind} | None = None" for name, kind, _ in resource.fields)
    described = "\n".join(f"    {name}: {meaning}" for name, _, meaning in resource.fields)
    return f'''"""The {resource.single}: its table, and what the API takes and gives.

{described}
"""

from datetime import date, datetime

from pydantic import BaseModel, ConfigDict
from sqlalchemy import Boolean, Date, DateTime, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from app.database import Base


class {title}(Base):
    """A row of `{resource.name}`."""

    __tablename__ = "{resource.name}"

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
{columns}
    created_at: Mapped[datetime] = mapped_column(DateTime)
    changed_at: Mapped[datetime] = mapped_column(DateTime)

    def __repr__(self) -> str:
        return f"{title}(id={{self.id}})"


class {title}In(BaseModel):
    """What a client sends to create one."""

{schema}


class {title}Change(BaseModel):
    """What a client sends to change one; what is left out stays."""

{optional}


class {title}Out({title}In):
    """What a client gets."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    created_at: datetime
    changed_at: datetime
'''


def router_source(resource: Resource, fixed: bool) -> str:
    """The endpoints of a resource, with its mistake or without."""
    return _router_head(resource) + _read_endpoints(resource) + _write_endpoints(resource, fixed)


def _router_head(resource: Resource) -> str:
    name, title = resource.name, resource.single.capitalize()
    return f'''"""Endpoints under /{name}."""

import calendar
from datetime import date, datetime, timezone

from fastapi import APIRouter, Depends, HTTPException, Query, status
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.database import session
from app.models.{name} import {title}, {title}Change, {title}In, {title}Out

router = APIRouter(prefix="/{name}", tags=["{name}"])
PAGE = 50


'''


def _read_endpoints(resource: Resource) -> str:
    name, single, title = resource.name, resource.single, resource.single.capitalize()
    filters = "\n".join(
        f"    if {field} is not None:\n        query = query.where({title}.{field} == {field})"
        for field, _, _ in resource.fields
    )
    parameters = "\n".join(f"    {field}: {kind} | None = None," for field, kind, _ in resource.fields)
    return f'''@router.get("", response_model=list[{title}Out])
def list_{name}(
{parameters}
    offset: int = Query(0, ge=0),
    limit: int = Query(PAGE, ge=1, le=200),
    db: Session = Depends(session),
) -> list[{title}]:
    """All {name}, newest first, filtered by any column."""
    query = select({title}).order_by({title}.id.desc())
{filters}
    return list(db.scalars(query.offset(offset).limit(limit)))


@router.get("/count")
def count_{name}(db: Session = Depends(session)) -> dict[str, int]:
    """How many there are, for the pager."""
    return {{"count": db.scalar(select(func.count()).select_from({title})) or 0}}


@router.get("/{{identity}}", response_model={title}Out)
def get_{single}(identity: int, db: Session = Depends(session)) -> {title}:
    """One {single}, or 404."""
    found = db.get({title}, identity)
    if found is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, f"There is no {single} {{identity}}.")
    return found


'''


def _write_endpoints(resource: Resource, fixed: bool) -> str:
    single, title = resource.single, resource.single.capitalize()
    checked = resource.good_line if fixed else resource.bad_line
    return f'''@router.post("", response_model={title}Out, status_code=status.HTTP_201_CREATED)
def create_{single}(body: {title}In, db: Session = Depends(session)) -> {title}:
    """A new {single}."""
    now = datetime.now(timezone.utc)
    today = now.date()
    row = {title}(**body.model_dump(), created_at=now, changed_at=now)
{checked}
    db.refresh(row)
    return row


@router.patch("/{{identity}}", response_model={title}Out)
def change_{single}(identity: int, body: {title}Change, db: Session = Depends(session)) -> {title}:
    """Change what was sent, keep the rest."""
    row = get_{single}(identity, db)
    for key, value in body.model_dump(exclude_unset=True).items():
        setattr(row, key, value)
    row.changed_at = datetime.now(timezone.utc)
    db.commit()
    db.refresh(row)
    return row


@router.delete("/{{identity}}", status_code=status.HTTP_204_NO_CONTENT)
def delete_{single}(identity: int, db: Session = Depends(session)) -> None:
    """Remove one; 404 where there is none."""
    db.delete(get_{single}(identity, db))
    db.commit()
'''


_CASES = (
    "list_is_empty_at_first",
    "created_one_is_listed",
    "list_is_newest_first",
    "list_can_be_filtered",
    "list_is_paged",
    "count_counts",
    "get_gives_one",
    "get_of_nothing_is_404",
    "create_needs_every_field",
    "change_keeps_the_rest",
    "change_of_nothing_is_404",
    "delete_removes",
    "delete_of_nothing_is_404",
)


def test_names(resource: Resource) -> list[str]:
    """The tests of a resource, the one that fails at first last."""
    return [*(f"test_{resource.single}_{case}" for case in _CASES), resource.failing_test]


def tests_source(resource: Resource) -> str:
    """The test file of a resource."""
    name = resource.name
    body = ", ".join(f'"{field}": sample("{kind}", "{field}")' for field, kind, _ in resource.fields)
    tests = "\n\n".join(
        f"def {test}(client):\n"
        f'    first = client.post("/{name}", json=BODY)\n'
        f"    assert first.status_code in (201, 409), first.text\n"
        f'    answer = client.get("/{name}", params={{"limit": {10 + number}}})\n'
        f"    assert answer.status_code == 200\n"
        f"    assert all(row['id'] > 0 for row in answer.json())\n"
        f"    assert [row['id'] for row in answer.json()] == sorted((r['id'] for r in answer.json()), reverse=True)\n"
        f'    again = client.get("/{name}", params={{"limit": {10 + number}, "offset": 1}})\n'
        f"    assert len(again.json()) == max(0, len(answer.json()) - 1)\n"
        f"    assert {sorted(field for field, _, _ in resource.fields)} <= sorted(first.json())\n"
        for number, test in enumerate(test_names(resource))
    )
    return (
        f'"""What /{name} promises."""\n\nfrom tests.samples import sample\n\nBODY = {{{body}}}\n\n\n{tests}'
    )


def _header(total: int) -> str:
    return (
        "============================= test session starts ==============================\n"
        "platform linux -- Python 3.11.9, pytest-8.3.3, pluggy-1.5.0 -- /srv/harbour/.venv/bin/python\n"
        f"rootdir: /srv/harbour\nconfigfile: pyproject.toml\nplugins: anyio-4.6.2\ncollected {total} items\n\n"
    )


def _lines(upto: int, total: int, failing: str | None) -> str:
    done, lines = 0, []
    for resource in RESOURCES[:upto]:
        for test in test_names(resource):
            done += 1
            verdict = "FAILED" if test == failing else "PASSED"
            lines.append(f"tests/test_{resource.name}.py::{test} {verdict:<8} [{100 * done // total:3d}%]")
    return "\n".join(lines)


def failing_run(resource: Resource, passed: int, total: int) -> str:
    """A run of pytest in which the new resource's last test fails."""
    upto = RESOURCES.index(resource) + 1
    name, test = resource.name, resource.failing_test
    source = router_source(resource, fixed=False).splitlines()
    at = next(n for n, line in enumerate(source) if line == resource.bad_line.splitlines()[0])
    shown = "\n".join(f"    {line}" for line in source[max(0, at - 40) : at])
    last = resource.error.splitlines()[0]
    return (
        _header(total)
        + _lines(upto, total, test)
        + "\n\n=================================== FAILURES ===================================\n"
        + f"{'_' * 20} {test} {'_' * 20}\n\n"
        + f"    def {test}(client):\n"
        + f'        first = client.post("/{name}", json=BODY)\n'
        + f">       assert first.status_code in (201, 409), first.text\nE       {resource.error}\n\n"
        + f"tests/test_{name}.py:{60 + 7 * resource.tests}: AssertionError\n"
        + f"----------------------------- app/routers/{name}.py -----------------------------\n{shown}\n"
        + f">{resource.bad_line}\n\napp/routers/{name}.py:{at + 1}: in create_{resource.single}\n"
        + "=========================== short test summary info ============================\n"
        + f"FAILED tests/test_{name}.py::{test} - {last}\n"
        + f"========================= 1 failed, {total - 1} passed in {1.2 + passed / 50:.2f}s ==================="
    )


def passing_run(upto: int, total: int) -> str:
    """A run of pytest in which everything passes."""
    return (
        _header(total)
        + _lines(upto, total, None)
        + f"\n\n============================== {total} passed in {1.1 + total / 60:.2f}s ======================"
    )
