import { badRequest, methodNotSupported, notFound, unsupportedMediaType } from '../api/api-errors.ts'
import { parseJson, parseJsonObject } from '../api/codec/json.ts'
import { isJsonObject } from '../api/json.ts'
import type { Json } from '../api/json.ts'
import { applyJsonPatch } from '../api/patch/json-patch.ts'
import { mergePatch } from '../api/patch/merge-patch.ts'
import { strategicMerge } from '../api/patch/strategic-merge.ts'
import type { Answer, VerbRequest } from './answer.ts'
import { bodyText, checkNames, checkType, shape } from './decode.ts'
import { resourceOf } from './definition.ts'
import type { AnyObject } from './definition.ts'
import { removalLost } from './finalize.ts'
import { readWriteOptions } from './options.ts'
import type { WriteOptions } from './options.ts'
import type { VerbParts } from './parts.ts'
import { planRewrite } from './rewrite.ts'
import { settle } from './settle.ts'
import { subresourceOf } from './subresource.ts'

/**
 * Changes an object by a patch. A patch that names no resourceVersion is applied again to whatever won a
 * race, a bounded number of times.
 *
 * @throws ApiError
 * @source spec 4.3
 */
export async function patch(parts: VerbParts, request: VerbRequest): Promise<Answer> {
  const { definition, target } = request
  const subresource = subresourceOf(definition, target)
  if (subresource !== null && !subresource.verbs.includes('patch')) {
    throw methodNotSupported(resourceOf(definition), 'patch')
  }
  const options = readWriteOptions(request.query)
  const apply = patchOf(parts, request)
  const warn = onceEach(request.context.warn)
  const rewrite = {
    subresource,
    dryRun: options.dryRun,
    change: (current: AnyObject) => changed(parts, request, options, apply(current), warn),
    onMissing: () => {
      throw notFound(resourceOf(definition), target.name ?? '')
    },
  }
  return settle(parts, request, () => planRewrite(parts, request, rewrite), {
    attemptsMax: parts.limits.rewriteAttemptsMax,
    onLost: (lost) => removalLost(definition, target.name ?? '', lost),
  })
}

export const patchMediaTypes: readonly string[] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
]

/** The patch as a function; the body is read once, whatever races follow. */
function patchOf(parts: VerbParts, request: VerbRequest): (current: AnyObject) => Json {
  switch (request.contentType) {
    case 'application/merge-patch+json': {
      const body = parseJsonObject(bodyText(request.body))
      return (current) => mergePatch(current, body)
    }
    case 'application/json-patch+json': {
      const body = parseJson(bodyText(request.body))
      return (current) => applyJsonPatch(current, body)
    }
    case 'application/strategic-merge-patch+json': {
      const body = parseJsonObject(bodyText(request.body))
      const schema = parts.schemas.of(request.definition)
      return (current) => strategicMerge(schema, current, body)
    }
    default:
      throw unsupportedMediaType(patchMediaTypes)
  }
}

function changed(
  parts: VerbParts,
  request: VerbRequest,
  options: WriteOptions,
  patched: Json,
  warn: (text: string) => void,
): AnyObject {
  const { definition, target } = request
  if (!isJsonObject(patched)) throw badRequest('the patch leaves no object')
  const typed = checkType(patched, definition)
  const object = shape(parts, definition, typed, { validation: options.fieldValidation, warn })
  checkNames(object, target)
  return object
}

/** A patch may be evaluated several times; what it warns of is told once. */
function onceEach(warn: (text: string) => void): (text: string) => void {
  const told = new Set<string>()
  return (text) => {
    if (told.has(text)) return
    told.add(text)
    warn(text)
  }
}
