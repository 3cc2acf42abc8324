"""A script as one row of statements: a function that the text calls once stands where it is called, with names of its own."""

import ast
import collections
import itertools
from collections.abc import Iterator

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
_UNKNOWN = (
    *(ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda),
    *(ast.Import, ast.ImportFrom, ast.ExceptHandler),  # what they bind would keep its name while its uses are renamed
)


def flat(tree: ast.Module) -> ast.Module:
    """The same run with the functions that are called once put in place; those that are called otherwise stay as they are."""
    loads = collections.Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    names = bound(tree)
    once = {
        one.name: one
        for one in tree.body
        if isinstance(one, ast.FunctionDef) and loads[one.name] == names[one.name] == 1 and _is_plain(one)
    }
    waiting = dict(once)
    body = _placed(tree.body, waiting)
    placed = {id(once[name]) for name in once if name not in waiting}
    return ast.Module([statement for statement in body if id(statement) not in placed], [])


def flow(node: ast.AST) -> Iterator[ast.AST]:
    """What runs where it stands: all parts but the insides of functions and classes."""
    yield node
    for inner in ast.iter_child_nodes(node):
        yield from [inner] if isinstance(inner, Scope) else flow(inner)


def bound(node: ast.AST) -> collections.Counter[str]:
    """How often each name is bound where it stands."""
    found = collections.Counter[str]()
    for part in flow(node):
        match part:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found[name] += 1
            case ast.alias(name=name, asname=other):
                found[other or name.split(".")[0]] += 1
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found[name] += 1
            case ast.ExceptHandler(name=str(name)):
                found[name] += 1
    return found


def _is_plain(function: ast.FunctionDef) -> bool:
    inner = [node for node in ast.walk(function) if node is not function]
    starred = function.args.vararg or function.args.kwarg or function.args.posonlyargs or function.decorator_list
    returns = [node for node in inner if isinstance(node, ast.Return)]
    ends = not returns or (len(returns) == 1 and returns[0] is function.body[-1])
    return not starred and ends and not any(isinstance(node, (*_UNKNOWN, ast.FunctionDef)) for node in inner)


def _placed(body: list[ast.stmt], waiting: dict[str, ast.FunctionDef]) -> list[ast.stmt]:
    found = list[ast.stmt]()
    for statement in body:
        for part in ("body", "orelse", "finalbody"):
            if not isinstance(statement, Scope) and getattr(statement, part, None):
                setattr(statement, part, _placed(getattr(statement, part), waiting))
        match statement:
            case ast.If(test=test, body=inner, orelse=[]) if ast.unparse(test) == "__name__ == '__main__'":
                found += inner
            case (
                ast.Expr(value=ast.Call(func=ast.Name(id=name)) as call)
                | ast.Assign(targets=[_], value=ast.Call(func=ast.Name(id=name)) as call)
            ) if name in waiting and (given := _given(waiting[name], call)) is not None:
                found += _placed(_own(waiting.pop(name), given, statement), waiting)
            case _:
                found.append(statement)
    return found


def _given(function: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr] | None:
    """What each parameter stands for; None where that is not plain."""
    names = [one.arg for one in (*function.args.args, *function.args.kwonlyargs)]
    places = [one.arg for one in function.args.args]
    given = dict(zip(reversed(places), reversed(function.args.defaults), strict=False))
    given |= {one.arg: default for one, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True) if default}
    said = [*zip(places, call.args, strict=False), *((keyword.arg or "", keyword.value) for keyword in call.keywords)]
    given |= dict(said)
    is_plain = len(call.args) <= len(places) and len(dict(said)) == len(said) and not any(isinstance(one, ast.Starred) for one in call.args)
    return given if is_plain and set(given) == set(names) else None


def _own(function: ast.FunctionDef, given: dict[str, ast.expr], site: ast.Expr | ast.Assign) -> list[ast.stmt]:
    """The statements of a call: what a parameter names keeps that name, all else is the function's own."""
    stored = set().union(*(bound(statement) for statement in function.body))
    names = {name: f"{name}@{function.name}" for name in (*stored, *given)}
    names |= {name: value.id for name, value in given.items() if isinstance(value, ast.Name) and name not in stored}
    assigned = [(names[name], value) for name, value in given.items() if not isinstance(value, ast.Name) or name in stored]
    first: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], value) for name, value in assigned]
    rest = _Renamed(names)
    body = [rest.visit(statement) for statement in function.body]
    if isinstance(last := body[-1], ast.Return):
        value = last.value or ast.Constant(None)
        body[-1] = ast.copy_location(ast.Assign(site.targets, value) if isinstance(site, ast.Assign) else ast.Expr(value), last)
    for node in itertools.chain(first, body):
        ast.copy_location(node, site if node in first else node)
        ast.fix_missing_locations(node)
    return [*first, *body]


class _Renamed(ast.NodeTransformer):
    """A function's statements where they are called, with its own names."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self._names.get(node.id, node.id), node.ctx), node)
