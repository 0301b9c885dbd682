import { serviceUnavailable } from '../api/api-errors.ts'
import { jsonText } from '../api/codec/json-text.ts'
import { invalid } from '../api/field-error.ts'
import { requireValid } from '../api/findings.ts'
import type { Findings } from '../api/findings.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../api/json.ts'
import type { ObjectMeta } from '../api/object.ts'
import { validateSchema } from '../api/schema/validate.ts'
import type { Answer, VerbRequest } from './answer.ts'
import type { AnyObject } from './definition.ts'
import type { VerbParts } from './parts.ts'

/**
 * Answers a create of a kind that asks instead of storing: 201 with what was asked and what is true of it. Nothing is
 * stored, so a dry run is no other thing.
 *
 * @throws ApiError
 * @source spec 1.4, 2.12
 */
export async function answerReview(
  parts: VerbParts,
  request: VerbRequest,
  sent: AnyObject,
  dryRun: boolean,
): Promise<Answer> {
  const { definition, target, context } = request
  const { review } = definition
  const { reviewers } = parts
  if (review === undefined || reviewers === undefined) {
    throw serviceUnavailable(`nobody here answers ${definition.plural}`)
  }
  const { namespace } = target
  const asked = {
    definition,
    target,
    oldObject: null,
    user: context.user,
    dryRun,
    warn: context.warn,
  } as const
  const plain = question(sent, namespace)
  const object = (await parts.admission.mutate({ ...asked, operation: 'CREATE', object: plain })) ?? plain
  check(request, object)
  await parts.admission.validate({ ...asked, operation: 'CREATE', object })
  const answered = await review(object, { user: context.user, namespace, reviewers })
  return { kind: 'document', code: 201, bytes: Buffer.from(jsonText(shown(answered, namespace))) }
}

/** What a client says of the answer does not count. */
function question(sent: AnyObject, namespace: string | null): AnyObject {
  const draft: JsonObjectDraft = { ...sent }
  delete draft['status']
  const metadata = namespace === null ? sent.metadata : { ...sent.metadata, namespace }
  return { ...draft, kind: sent.kind, apiVersion: sent.apiVersion, metadata }
}

function check({ definition, target }: VerbRequest, object: AnyObject): void {
  requireValid(definition, '', (found) => {
    checkMetadata(object.metadata, target.namespace, found)
    validateSchema(definition.schema, object, found)
    definition.hooks.validate?.(object, found)
  })
}

/** What is not stored has no name, no labels and no history. */
function checkMetadata(metadata: ObjectMeta, namespace: string | null, found: Findings): void {
  const said = Object.entries(metadata).filter(([name, value]) => {
    const absent = value === null || value === ''
    return !absent && !(name === 'namespace' && namespace !== null) && name !== 'managedFields'
  })
  if (said.length === 0) return
  const words = namespace === null ? 'must be empty' : 'must be empty except for namespace'
  const value: Json = Object.fromEntries(said.map(([name]) => [name, '...']))
  found.add(invalid('metadata', value, words))
}

function shown({ kind, apiVersion, ...rest }: AnyObject, namespace: string | null): JsonObject {
  const metadata = { ...(namespace === null ? {} : { namespace }), creationTimestamp: null }
  return Object.assign({ kind, apiVersion, metadata }, rest, { metadata })
}
