import { notFound, uidConflict } from '../api/api-errors.ts'
import { invalid, invalidObject } from '../api/field-error.ts'
import type { Answer, VerbRequest } from './answer.ts'
import { planCreate } from './create.ts'
import { checkNames, decodeObject } from './decode.ts'
import { resourceOf } from './definition.ts'
import type { AnyObject, ResourceDefinition } from './definition.ts'
import { removalLost } from './finalize.ts'
import { readWriteOptions } from './options.ts'
import type { WriteOptions } from './options.ts'
import type { VerbParts } from './parts.ts'
import { keyOfTarget } from './request.ts'
import { planRewrite } from './rewrite.ts'
import { settle } from './settle.ts'
import type { Plan } from './settle.ts'
import { partOf, viewOf } from './subresource.ts'
import { changeThrough, shownAs } from './view.ts'

/**
 * Replaces an object: 200, or 201 where a missing one may be created. A body with a resourceVersion
 * replaces only that version; without one it replaces whatever is there.
 *
 * @throws ApiError
 */
export async function update(parts: VerbParts, request: VerbRequest): Promise<Answer> {
  const { definition, target } = request
  const view = viewOf(definition, target, 'update')
  const subresource = view === null ? partOf(definition, target, 'update') : null
  const options = readWriteOptions(request.query)
  const sent = decodeObject(parts, request, options.fieldValidation, view?.body ?? definition)
  checkNames(sent, target)
  const rewrite = {
    subresource,
    dryRun: options.dryRun,
    change: view === null ? () => withVersion(definition, sent) : changeThrough(view, () => sent),
    onMissing: () => planMissing(parts, request, sent, options),
  }
  const answer = await settle(parts, request, () => planRewrite(parts, request, rewrite), {
    attemptsMax: parts.limits.rewriteAttemptsMax,
    key: keyOfTarget(definition, target),
    onLost: (lost) => removalLost(definition, target.name ?? '', lost),
  })
  return view === null ? answer : shownAs(view, answer)
}

/** @throws ApiError `Invalid` for kinds that nobody may overwrite without having seen what is there */
function withVersion(definition: ResourceDefinition, sent: AnyObject): AnyObject {
  const { metadata } = sent
  if (definition.updateNeedsVersion !== true || metadata.resourceVersion) return sent
  const causes = [invalid('metadata.resourceVersion', '', 'must be specified for an update')]
  throw invalidObject(definition, metadata.name ?? '', causes)
}

/** A body that names a version or uid means an object that existed. */
function planMissing(
  parts: VerbParts,
  request: VerbRequest,
  sent: AnyObject,
  options: WriteOptions,
): Plan<Answer> | Promise<Plan<Answer>> {
  const { definition, target } = request
  const resource = resourceOf(definition)
  const name = target.name ?? ''
  const { uid, resourceVersion } = sent.metadata
  const allowed = definition.putCreates === true || parts.names.putCreates
  if (!allowed || target.subresource !== null || !definition.verbs.includes('create')) {
    throw notFound(resource, name)
  }
  if (uid) throw uidConflict(resource, name, { wanted: uid, stored: '' })
  if (resourceVersion) throw notFound(resource, name)
  return planCreate(parts, request, sent, options.dryRun)
}
