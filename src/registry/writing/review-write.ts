import { serviceUnavailable } from '../../api/errors/standard-errors.ts'
import { jsonText } from '../../api/codec/json-text.ts'
import type { JsonObject, JsonObjectDraft } from '../../api/json.ts'
import type { WriteRequest } from '../calls/verb.ts'
import { reshapeObject } from './decode.ts'
import type { AnyObject } from '../kinds/definition.ts'
import { documentResponse } from '../calls/document-response.ts'
import type { WriteOptions } from '../calls/query-options.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { validateReview } from './validate-write.ts'
import type { Plan } from './plan.ts'
import type { Write } from './write-pipeline.ts'

/**
 * Returns the write of an object that is evaluated instead of stored: 201 with the request and its
 * result. A dry run does the same.
 *
 * @throws ApiError
 * @source spec 1.4, 2.12
 */
export function reviewWrite(
  dependencies: VerbDependencies,
  request: WriteRequest,
  options: WriteOptions,
  decode: () => AnyObject | Promise<AnyObject>,
): Write<AnyObject> {
  const { definition, target } = request
  const { namespace } = target
  return {
    options: { kind: 'CreateOptions', ...options },
    decode,
    draft: (sent) => ({
      ...({ operation: 'CREATE', object: question(sent, namespace), current: null } as const),
      reshape: (mutated) => question(reshapeObject(dependencies, definition, mutated), namespace),
      validate: (object) => validateReview(definition, object, namespace),
      plan: (object) => answerReview(dependencies, request, object),
    }),
    retry: { attemptsMax: 1, key: null, barrierFirst: false },
  }
}

async function answerReview(
  dependencies: VerbDependencies,
  request: WriteRequest,
  object: AnyObject,
): Promise<Plan> {
  const { definition, target, context } = request
  const { review } = definition
  const { reviewers } = dependencies
  if (review === undefined || reviewers === undefined) {
    throw serviceUnavailable(`this server does not answer ${definition.plural}`)
  }
  const { namespace } = target
  const answered = await review(object, { user: context.user, namespace, reviewers })
  return { kind: 'answer', value: documentResponse(201, Buffer.from(jsonText(shown(answered, namespace)))) }
}

/** Returns the object without the result that the client sent, which is ignored. */
function question(sent: AnyObject, namespace: string | null): AnyObject {
  const draft: JsonObjectDraft = { ...sent }
  delete draft['status']
  const metadata = namespace === null ? sent.metadata : { ...sent.metadata, namespace }
  return { ...draft, kind: sent.kind, apiVersion: sent.apiVersion, metadata }
}

function shown({ kind, apiVersion, ...rest }: AnyObject, namespace: string | null): JsonObject {
  const metadata = { ...(namespace === null ? {} : { namespace }), creationTimestamp: null }
  return Object.assign({ kind, apiVersion, metadata }, rest, { metadata })
}
