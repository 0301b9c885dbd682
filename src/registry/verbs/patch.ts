import { assert } from '../../../base/assert.ts'
import { fieldsOfJsonPatch, fieldsOfMergePatch } from '../../api/apply/fields-sent.ts'
import { badRequest } from '../../api/errors/standard-errors.ts'
import { checkBuilt, parseJson, parseJsonObject } from '../../api/codec/json.ts'
import { checkJsonValues } from '../../api/codec/value-count.ts'
import { isJsonObject } from '../../api/json.ts'
import type { Json } from '../../api/json.ts'
import { applyJsonPatch, unknownInJsonPatch } from '../../api/patch/json-patch.ts'
import { mergePatch } from '../../api/patch/merge-patch.ts'
import { strategicMerge } from '../../api/patch/strategic-merge.ts'
import { unknownFieldWords } from '../../api/schema/conform.ts'
import { patchFormatOf } from '../../api/media-type.ts'
import type { PatchFormat } from '../../api/media-type.ts'
import type { VerbResponse, WriteRequest } from '../calls/verb.ts'
import {
  bodyText,
  checkNames,
  checkType,
  conformed,
  duplicateFieldWarnings,
  shape,
  withValueLimit,
} from '../writing/decode.ts'
import type { DecodedKind, ShapeOptions } from '../writing/decode.ts'
import type { AnyObject, ViewSubresource } from '../kinds/definition.ts'
import { withManagedFieldsMember } from '../kinds/metadata.ts'
import { readPatchOptions } from '../calls/query-options.ts'
import type { FieldValidation } from '../calls/query-options.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import type { FieldsSent } from '../writing/manage-fields.ts'
import { draftRewrite, requireVersion, rewriteRetry } from '../writing/rewrite.ts'
import { partOf, viewOf } from '../calls/subresource.ts'
import { yieldToEventLoop } from '../shared/yield-budget.ts'
import { apply } from './apply.ts'
import { changeThroughView, showView } from './view-subresource.ts'
import { runWrite } from '../writing/write-pipeline.ts'

/**
 * Patches an object. After a lost race, a patch without a resourceVersion is applied to the new
 * version of the object, a bounded number of times.
 *
 * @throws ApiError
 * @source spec 4.3
 */
export async function patch(dependencies: VerbDependencies, request: WriteRequest): Promise<VerbResponse> {
  const { definition, target } = request
  const view = viewOf(definition, target, 'patch')
  const subresource = view === null ? partOf(definition, target, 'patch') : null
  const kind = view?.body ?? definition
  const format = formatOf(request, view)
  if (format === 'apply-patch') {
    const applied = await apply(dependencies, request, view)
    return view === null ? applied : showView(view, applied)
  }
  const options = {
    kind: 'PatchOptions',
    ...readPatchOptions(request.query, dependencies.names.domain),
  } as const
  const validation = options.fieldValidation
  const warn = onceEach(request.context.warn)
  const answer = await runWrite(dependencies, request, {
    options,
    decode: () =>
      withValueLimit(dependencies, request, (valuesMax) =>
        readPatch(dependencies, request, { kind, format, validation, valuesMax }),
      ),
    draft: ({ apply, found, fieldsSent }, reads) => {
      const shaping = { validation, found, warn }
      const patched = (current: AnyObject): AnyObject =>
        changed(dependencies, request, { kind, current, patched: apply(current) }, shaping)
      const change =
        view === null ? patched : changeThroughView(view, (current) => patched(view.view.patched(current)))
      const rewrite = { subresource, options, change: requireVersion(request, change), fieldsSent }
      return draftRewrite(dependencies, request, rewrite, reads)
    },
    retry: rewriteRetry(dependencies, request, options),
  })
  return view === null ? answer : showView(view, answer)
}

/** Definitions have no strategic merge rules for lists. @source spec 4.3 */
const formatsOfCustomKinds: readonly PatchFormat[] = ['json-patch', 'merge-patch', 'apply-patch']
const formats: readonly PatchFormat[] = [...formatsOfCustomKinds, 'strategic-merge-patch']

/** @throws ApiError `UnsupportedMediaType` */
function formatOf({ definition, contentType }: WriteRequest, view: ViewSubresource | null): PatchFormat {
  const all = view === null && definition.structural !== undefined ? formatsOfCustomKinds : formats
  return patchFormatOf(contentType, all)
}

type Apply = (current: AnyObject) => Json
type ReadPatch = {
  readonly apply: Apply
  readonly fieldsSent: FieldsSent
  /** Warnings about the patch itself. */
  readonly found: readonly string[]
}

type PatchReading = {
  readonly kind: DecodedKind
  readonly format: PatchFormat
  readonly validation: FieldValidation
  readonly valuesMax: number
}

/** Returns the patch as a function; the body is parsed once, regardless of retries. */
function readPatch(
  dependencies: VerbDependencies,
  request: WriteRequest,
  { kind, format, validation, valuesMax }: PatchReading,
): ReadPatch | Promise<ReadPatch> {
  checkJsonValues(request.body, valuesMax)
  const text = bodyText(request.body)
  const patch = format === 'json-patch' ? parseJson(text) : parseJsonObject(text)
  request.context.received?.(patch)
  const found = (): readonly string[] => {
    const doubled = duplicateFieldWarnings(text, validation)
    // Paths in a JSON patch refer to the patch, not to the object.
    if (format !== 'json-patch') return doubled
    return [...unknownInJsonPatch(patch).map(unknownFieldWords), ...doubled].map(
      (words) => `json patch ${words}`,
    )
  }
  const fieldsSent: FieldsSent = (type, object) => {
    if (!isJsonObject(patch)) return fieldsOfJsonPatch(type, patch, object)
    return fieldsOfMergePatch(type, kind.hooks?.mergeWriteOnly?.(patch) ?? patch, object)
  }
  const read = (): ReadPatch => ({
    apply: applyOf(dependencies, kind, format, patch),
    fieldsSent,
    found: found(),
  })
  return request.body.byteLength <= dependencies.limits.writeTurnBytes
    ? read()
    : yieldToEventLoop(dependencies.clock).then(read)
}

function applyOf(dependencies: VerbDependencies, kind: DecodedKind, format: PatchFormat, patch: Json): Apply {
  if (format === 'json-patch') return (current) => applyJsonPatch(withManagedFieldsMember(current), patch)
  assert(isJsonObject(patch), 'patches of other formats were read as objects')
  if (format === 'merge-patch') return (current) => mergePatch(current, patch)
  assert(format === 'strategic-merge-patch', 'server-side apply has a path of its own')
  return (current) => strategicMerge(dependencies.schemas.of(kind), current, patch)
}

function changed(
  dependencies: VerbDependencies,
  { target }: WriteRequest,
  { kind, current, patched }: { readonly kind: DecodedKind; readonly current: Json; readonly patched: Json },
  shaping: ShapeOptions,
): AnyObject {
  if (!isJsonObject(patched)) throw badRequest('the result of the patch is not an object')
  // The operations of a patch can nest values deeper than any body: each can add to what the
  // previous one added.
  checkBuilt(patched, current)
  const keptBefore = (): readonly string[] =>
    isJsonObject(current) ? conformed(dependencies, kind, current).kept : []
  const object = shape(dependencies, kind, checkType(patched, kind), { ...shaping, keptBefore })
  checkNames(object, target)
  return object
}

/** A patch may be evaluated several times; each warning is sent once. */
function onceEach(warn: (text: string) => void): (text: string) => void {
  const reported = new Set<string>()
  return (text) => {
    if (reported.has(text)) return
    reported.add(text)
    warn(text)
  }
}
