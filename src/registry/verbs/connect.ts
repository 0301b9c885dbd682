import { assert } from '../../../base/assert.ts'
import { badRequest, notFound } from '../../api/errors/standard-errors.ts'
import { keyOf } from '../../store/key.ts'
import type { ConnectOptions, Connecting, WriteRequest } from '../calls/verb.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import type { AnyObject } from '../kinds/definition.ts'
import { parseStored } from '../kinds/encode.ts'
import { readState } from '../reading/read-state.ts'
import { ReadSet } from '../shared/read-set.ts'

/**
 * Admits a connection to an object, and then reads the most recent state.
 *
 * @param options null: the connection is a read, such as that of logs
 * @throws ApiError
 * @source apiserver `pkg/endpoints/handlers/rest.go`, ConnectResource
 */
export async function connect(
  dependencies: VerbDependencies,
  request: WriteRequest,
  options: ConnectOptions | null,
): Promise<Connecting> {
  const admitted = options === null ? null : await admittedOptions(dependencies, request, options)
  const take = (): Connecting['find'] => {
    const view = dependencies.store.view()
    return (plural, namespace, name) => {
      if (name === '' || name.includes('/')) throw badRequest(`invalid name ${JSON.stringify(name)}`)
      const stored = view.get(keyOf({ group: '', plural, namespace: namespace ?? '', name }))
      if (stored === null) throw notFound({ group: '', resource: plural }, name)
      return parseStored(stored)
    }
  }
  const find = await readState(dependencies, request.context, { kind: 'most-recent' }, { take })
  return { options: admitted, find }
}

async function admittedOptions(
  dependencies: VerbDependencies,
  { definition, target, admission: context }: WriteRequest,
  { kind, object }: ConnectOptions,
): Promise<AnyObject> {
  const asked = {
    ...({ context, operation: 'CONNECT', definition, target, objectKind: kind } as const),
    options: { kind: 'CreateOptions', dryRun: false, fieldManager: '', fieldValidation: 'Ignore' } as const,
    oldObject: null,
    reshape: (mutated: AnyObject) => mutated,
    reads: new ReadSet(dependencies),
  }
  const mutated = await dependencies.admission.mutate({ ...asked, object })
  assert(mutated !== null, 'admission returns the object that it was given')
  await dependencies.admission.validate({ ...asked, object: mutated })
  return mutated
}
