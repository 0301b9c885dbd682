import { assertNever } from '../../../base/assert.ts'
import { tooLarge } from '../errors/standard-errors.ts'
import { jsonText } from '../codec/json-text.ts'
import { checkBuilt } from '../codec/json.ts'
import type { Json, JsonObject } from '../json.ts'
import { equalJson, isJsonList, isJsonObject, memberOf } from '../json.ts'
import { parsePointer } from './json-pointer.ts'
import type { Pointer } from './json-pointer.ts'
import { deepCopy, PatchDraft } from './patch-draft.ts'
import { malformedPatch, patchDoesNotApply } from './patch-errors.ts'

export const JSON_PATCH_OPERATIONS_MAX = 10_000

/**
 * Characters that the copy operations of one patch may copy together: repeated copies could double
 * a document many times.
 */
export const JSON_PATCH_COPIED_LENGTH_MAX = 3 * 1024 * 1024

/**
 * Applies all operations in order, or none. Negative list indices count from the end, as in
 * upstream's library.
 *
 * @throws ApiError BadRequest: not a patch, or too deep; RequestEntityTooLarge: too many
 *   operations, copies or shifted list elements; Invalid: it does not fit the document, or a test
 *   failed
 * @source RFC 6902, RFC 6901
 */
export function applyJsonPatch(document: Json, patch: Json): Json {
  const operations = parseJsonPatch(patch)
  const draft = new PatchDraft(document)
  let copied = 0
  for (const operation of operations) {
    if (operation.op === 'copy') {
      const value = draft.read(operation.from)
      // Moves may have made the document too deep.
      checkBuilt(value)
      copied += jsonText(value).length
      if (copied > JSON_PATCH_COPIED_LENGTH_MAX) {
        throw tooLarge(`the copies of a JSON patch exceed ${JSON_PATCH_COPIED_LENGTH_MAX} characters`)
      }
    }
    applyOne(draft, operation)
  }
  return draft.document
}

export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: Pointer; readonly value: Json }
  | { readonly op: 'remove'; readonly path: Pointer }
  | { readonly op: 'move' | 'copy'; readonly path: Pointer; readonly from: Pointer }

/** @throws ApiError BadRequest: not a patch; RequestEntityTooLarge: too many operations */
export function parseJsonPatch(patch: Json): readonly JsonPatchOperation[] {
  if (!isJsonList(patch)) throw malformedPatch('a JSON patch is a list of operations')
  if (patch.length > JSON_PATCH_OPERATIONS_MAX) {
    throw tooLarge(
      `The allowed maximum operations in a JSON patch is ${JSON_PATCH_OPERATIONS_MAX}, got ${patch.length}`,
    )
  }
  return patch.map(parseOperation)
}

/** Returns the paths of unknown members of operations, such as `[0].form`; at most 64. */
export function unknownInJsonPatch(patch: Json): readonly string[] {
  const found: string[] = []
  for (const [at, operation] of (isJsonList(patch) ? patch : []).entries()) {
    if (!isJsonObject(operation)) continue
    for (const name of Object.keys(operation)) {
      if (found.length < UNKNOWN_MAX && !OPERATION_MEMBERS.has(name)) found.push(`[${at}].${name}`)
    }
  }
  return found
}

const OPERATION_MEMBERS: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value'])
const UNKNOWN_MAX = 64

function parseOperation(operation: Json, at: number): JsonPatchOperation {
  if (!isJsonObject(operation)) throw malformedPatch(`operation ${at} of the JSON patch is not an object`)
  const op = memberOf(operation, 'op')
  switch (op) {
    case 'add':
    case 'replace':
    case 'test': {
      const value = memberOf(operation, 'value')
      if (value === undefined && op !== 'test') {
        throw malformedPatch(`operation ${at} (${op}) of the JSON patch has no value`)
      }
      return { op, path: pointerOf(operation, 'path', at), value: value ?? null }
    }
    case 'remove':
      return { op, path: pointerOf(operation, 'path', at) }
    case 'move':
    case 'copy':
      return { op, path: pointerOf(operation, 'path', at), from: pointerOf(operation, 'from', at) }
    default: {
      const shown = op === undefined ? 'missing' : jsonText(op).slice(0, 64)
      throw malformedPatch(`operation ${at} of the JSON patch has an unexpected kind: ${shown}`)
    }
  }
}

function pointerOf(operation: JsonObject, name: 'path' | 'from', at: number): Pointer {
  const text = memberOf(operation, name)
  const pointer = typeof text === 'string' ? parsePointer(text) : null
  if (pointer === null) throw malformedPatch(`operation ${at} of the JSON patch has a malformed ${name}`)
  return pointer
}

function applyOne(draft: PatchDraft, operation: JsonPatchOperation): void {
  switch (operation.op) {
    case 'add':
      draft.add(operation.path, operation.value)
      return
    case 'replace':
      draft.replace(operation.path, operation.value)
      return
    case 'remove':
      draft.remove(operation.path)
      return
    case 'copy':
      draft.add(operation.path, deepCopy(draft.read(operation.from)))
      return
    case 'move':
      move(draft, operation.from, operation.path)
      return
    case 'test':
      test(draft, operation.path, operation.value)
      return
    default:
      assertNever(operation)
  }
}

function move(draft: PatchDraft, from: Pointer, to: Pointer): void {
  const value = draft.read(from)
  if (from.text === to.text) return
  if (to.text.startsWith(`${from.text}/`)) {
    throw patchDoesNotApply(`move operation does not apply: ${to.text} lies inside of ${from.text}`)
  }
  draft.remove(from)
  draft.add(to, value)
}

/** A missing last member equals null, as in upstream. */
function test(draft: PatchDraft, path: Pointer, value: Json): void {
  if (!equalJson(draft.read(path, value === null ? null : undefined), value)) {
    throw patchDoesNotApply(`testing path ${path.text} value failed: test failed`)
  }
}
