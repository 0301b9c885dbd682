import { notFound } from '../../api/errors/standard-errors.ts'
import type { VerbResponse, WriteRequest } from '../calls/verb.ts'
import { checkCreatable, draftCreate, Stamps } from './create.ts'
import { checkNames, decodeObject, withValueLimit } from '../writing/decode.ts'
import { resourceOf } from '../kinds/definition.ts'
import type { AnyObject } from '../kinds/definition.ts'
import { isUnversioned, readWriteOptions } from '../calls/query-options.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { draftRewrite, requireVersion, rewriteRetry } from '../writing/rewrite.ts'
import { partOf, viewOf } from '../calls/subresource.ts'
import { changeThroughView, showView } from './view-subresource.ts'
import { runWrite } from '../writing/write-pipeline.ts'
import type { Draft } from '../writing/write-pipeline.ts'

/**
 * Replaces an object: 200, or 201 if a missing one may be created. A body with a resourceVersion
 * replaces only that version; without one, or with "0", it replaces any version.
 *
 * @throws ApiError
 * @source spec 4.2
 */
export async function update(dependencies: VerbDependencies, request: WriteRequest): Promise<VerbResponse> {
  const { definition, target } = request
  const view = viewOf(definition, target, 'update')
  const subresource = view === null ? partOf(definition, target, 'update') : null
  const options = {
    kind: 'UpdateOptions',
    ...readWriteOptions(request.query, 'UpdateOptions', dependencies.names.domain),
  } as const
  const stamps = new Stamps(dependencies, request)
  let namesVersion = false
  const answer = await runWrite(dependencies, request, {
    options,
    decode: () => {
      const kind = view?.body ?? definition
      const checked = (sent: AnyObject): AnyObject => {
        checkNames(sent, target)
        return sent
      }
      const sent = withValueLimit(dependencies, request, (valuesMax) =>
        decodeObject(dependencies, request, options.fieldValidation, { kind, valuesMax }),
      )
      return sent instanceof Promise ? sent.then(checked) : checked(sent)
    },
    draft: (sent, reads) => {
      namesVersion = !isUnversioned(sent.metadata.resourceVersion)
      const change = view === null ? (): AnyObject => sent : changeThroughView(view, () => sent)
      const onMissing = (): Draft => {
        if (definition.putCreates !== true && !dependencies.names.putCreates) {
          throw notFound(resourceOf(definition), target.name ?? '')
        }
        checkCreatable(request, sent)
        const draft = draftCreate(dependencies, request, { sent, stamps, options }, reads)
        return { ...draft, createsByUpdate: true }
      }
      const rewrite = { subresource, options, change: requireVersion(request, change), onMissing }
      return draftRewrite(dependencies, request, rewrite, reads)
    },
    retry: rewriteRetry(dependencies, request, options, () => namesVersion),
  })
  return view === null ? answer : showView(view, answer)
}
