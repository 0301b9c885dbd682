import type { Json, JsonObject, JsonObjectDraft } from '../json.ts'
import { isJsonList, isJsonObject, memberOf, setMember } from '../json.ts'
import { conform, conformAt, UNKNOWN_MAX } from '../schema/conform.ts'
import type { Conformed } from '../schema/conform.ts'
import type { Path } from '../schema/path.ts'
import { listIndex, member, spellPath } from '../schema/path.ts'
import { objectMetaSchema, partialObjectMetadataSchema } from '../schema/shared.ts'
import type { Structural } from './structural.ts'

/**
 * Prunes an object of a custom kind: removes members that its schema lacks, and nulls that are
 * neither allowed nor replaced by a default. Zeros stay. Values of a wrong type stay too, for
 * validation to report. Metadata, including that of embedded objects, is conformed to its schema;
 * kind and apiVersion stay.
 *
 * @throws ApiError BadRequest: the metadata of the object itself is invalid, as for every kind
 * @source apiextensions `pkg/apiserver/schema/{pruning,defaulting,objectmeta}`
 */
export function conformCustom(root: Structural, object: JsonObject): Conformed {
  const head = headOf(object)
  const typed = conform(partialObjectMetadataSchema, head)
  const unknown = [...typed.unknown]
  const rest = withoutHead(object)
  const body = pruneObject(root, rest, null, { unknown, keeps: root.preserveUnknown })
  const same = typed.value === head && body === rest
  return { value: same ? object : { ...typed.value, ...body }, unknown, kept: [] }
}

const HEAD = ['apiVersion', 'kind', 'metadata'] as const
const heads: ReadonlySet<string> = new Set(HEAD)

/** Returns whether every object has that member, whatever its kind. */
export function isHeadMember(name: string): boolean {
  return heads.has(name)
}

export function headOf(object: JsonObject): JsonObject {
  const head: JsonObjectDraft = {}
  for (const name of HEAD) {
    const value = memberOf(object, name)
    if (value !== undefined) head[name] = value
  }
  return head
}

function withoutHead(object: JsonObject): JsonObject {
  const body: JsonObjectDraft = { ...object }
  for (const name of HEAD) delete body[name]
  return body
}

/**
 * Returns a default without members that the schema lacks; defaults inside of maps were not checked
 * before.
 */
export function prunedDefault(node: Structural): Json {
  return prune(node, node.default, member(null, 'default'), { unknown: [] })
}

/**
 * Returns the paths of members that would be pruned from a value inside of an object; at most
 * `UNKNOWN_MAX`.
 */
export function unknownIn(node: Structural, value: Json, at: Path): readonly string[] {
  const unknown: string[] = []
  prune(node, value, at, { unknown })
  return unknown
}

type Walk = { readonly unknown: string[] }
/** `keeps`: members that the schema lacks are preserved here. */
type Mode = Walk & { readonly keeps: boolean }

/** @param node null: there is no schema, so objects may have no members */
function prune(node: Structural | null, value: Json, path: Path, walk: Walk): Json {
  return pruneIn(node, value, path, { unknown: walk.unknown, keeps: node?.preserveUnknown === true })
}

function pruneIn(node: Structural | null, value: Json, path: Path, mode: Mode): Json {
  if (isJsonObject(value)) return pruneObject(node, value, path, mode)
  if (!isJsonList(value)) return value
  const items = node?.items ?? null
  if (items === null && mode.keeps) return value
  let draft: Json[] | null = null
  for (let at = 0; at < value.length; at++) {
    const item = value[at] as Json
    const place = listIndex(path, at)
    // A list that preserves unknown members preserves them in its items.
    const next = mode.keeps ? pruneIn(items, item, place, mode) : prune(items, item, place, mode)
    if (next === item) continue
    draft ??= [...value]
    draft[at] = next
  }
  return draft ?? value
}

function pruneObject(node: Structural | null, object: JsonObject, path: Path | null, mode: Mode): JsonObject {
  let draft: JsonObjectDraft | null = null
  for (const name of Object.keys(object)) {
    const value = object[name] as Json
    const next =
      node?.embedded === true && isHeadMember(name)
        ? embeddedHead(name, value, path, mode)
        : pruneMember(node, { name, value }, path, mode)
    if (next === value) continue
    draft ??= { ...object }
    if (next === undefined) delete draft[name]
    else setMember(draft, name, next)
  }
  return draft ?? object
}

/** @returns undefined: the member is removed */
function pruneMember(
  node: Structural | null,
  { name, value }: { readonly name: string; readonly value: Json },
  path: Path | null,
  mode: Mode,
): Json | undefined {
  const additional = node?.additional ?? null
  const own = node?.properties.get(name)
  const schema = own ?? (typeof additional === 'object' ? additional : null)
  if (value === null && schema !== null && !schema.nullable && schema.default === null) return undefined
  if (own !== undefined || additional !== null) return prune(schema, value, member(path, name), mode)
  if (mode.keeps) return value
  if (mode.unknown.length < UNKNOWN_MAX) mode.unknown.push(spellPath(member(path, name)))
  return undefined
}

/**
 * Conforms a member of an embedded object. Invalid metadata stays as it is, for validation to
 * report.
 */
function embeddedHead(name: string, value: Json, path: Path | null, mode: Mode): Json | undefined {
  if (name !== 'metadata') return value
  if (value === null) return undefined
  if (!isJsonObject(value)) return value
  const conformed = conformAt(objectMetaSchema, value, member(path, name))
  if (conformed.kind === 'mismatch') return value
  const left = UNKNOWN_MAX - mode.unknown.length
  mode.unknown.push(...conformed.unknown.slice(0, Math.max(0, left)))
  return conformed.value
}
