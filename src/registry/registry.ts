import { methodNotSupported, notConvertible } from '../api/api-errors.ts'
import { ApiError } from '../api/api-error.ts'
import { StoreFailure } from '../store/errors.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { AdmissionContext } from './calls/admission-context.ts'
import type { Answer, Registry, VerbRequest, WriteRequest } from './calls/answer.ts'
import { create } from './verbs/create.ts'
import { removeCollection } from './verbs/delete-collection.ts'
import { remove } from './verbs/delete.ts'
import { basisOf, DefinitionStates } from './kinds/definition-basis.ts'
import { resourceOf } from './kinds/definition.ts'
import type { ResourceDefinition, Verb } from './kinds/definition.ts'
import { EventFrames } from './representations/event-frames.ts'
import { get } from './verbs/get.ts'
import { KeyedMutex } from './shared/keyed-mutex.ts'
import { KindWatches } from './kinds/kind-watches.ts'
import { LateKinds } from './kinds/late-kinds.ts'
import { HeldBytes } from './shared/held-bytes.ts'
import { defaultRegistryLimits } from './shared/limits.ts'
import type { RegistryLimits } from './shared/limits.ts'
import { list } from './verbs/list.ts'
import { isOperation, operate } from './verbs/operate.ts'
import { WholeSchemas } from './calls/parts.ts'
import type { VerbParts } from './calls/parts.ts'
import { patch } from './verbs/patch.ts'
import { represented } from './calls/represent.ts'
import { keyOfTarget } from './calls/request.ts'
import type { Target } from './calls/request.ts'
import { requireConvertible } from './calls/require-convertible.ts'
import { retryOnSchemaChange } from './calls/retry-on-schema-change.ts'
import { fromStore } from './shared/store-errors.ts'
import { VersionedStore } from './kinds/stored-version.ts'
import { asSwitched, everythingOn } from './calls/switches.ts'
import type { RegistrySwitches } from './calls/switches.ts'
import { EventRows } from './representations/table-framing.ts'
import { update } from './verbs/update.ts'
import { watch } from './verbs/watch.ts'

export type RegistryParts = Omit<
  VerbParts,
  | 'limits'
  | 'switches'
  | 'frames'
  | 'rows'
  | 'schemas'
  | 'writers'
  | 'held'
  | 'kindWatches'
  | 'definitionNow'
  | 'rawStore'
> & {
  /** See `SchemaChangeParts`. */
  readonly definitionsTakenIn?: () => Promise<void>
  /** Unset: the defaults. */
  readonly limits?: RegistryLimits
  /** Unset: everything is on. */
  readonly switches?: RegistrySwitches
}

/** The verbs over one member's store. */
export function registry(given: RegistryParts): Registry {
  const limits = given.limits ?? defaultRegistryLimits
  const parts: VerbParts = {
    ...given,
    limits,
    switches: given.switches ?? everythingOn,
    frames: new EventFrames(),
    rows: new EventRows(),
    schemas: new WholeSchemas(),
    rawStore: given.store,
    writers: new KeyedMutex(given.clock),
    held: new HeldBytes(limits.heldBytesTotalMax),
    kindWatches: new KindWatches(given.catalog, given.clock),
  }
  const { store } = given
  const states = new DefinitionStates(store)
  const versions = new WeakMap<ResourceDefinition, VerbParts>()
  /** As the asked version sees the store. */
  const partsOf = (definition: ResourceDefinition): VerbParts => {
    const { storedAs } = definition
    const basis = basisOf(definition)
    if (storedAs === undefined && basis === undefined) return parts
    let found = versions.get(definition)
    if (found === undefined) {
      found = {
        ...parts,
        ...(storedAs === undefined ? {} : { store: new VersionedStore(store, definition, storedAs) }),
        ...(basis === undefined ? {} : { definitionNow: () => states.now(basis) }),
      }
      versions.set(definition, found)
    }
    return found
  }
  /** A namespace is only gone when it is empty of all kinds there are. */
  const takenIn = (): Promise<void> => fromStore(given.definitionsTakenIn?.() ?? Promise.resolve())
  const answer = <Asked extends VerbRequest>(
    verb: Verb,
    asked: Asked,
    isConfirmed: (refusal: ApiError) => boolean,
    handle: (parts: VerbParts, request: Asked) => Promise<Answer>,
  ): Promise<Answer> => {
    const { target } = asked
    const run = async (definition: ResourceDefinition): Promise<Answer> => {
      // Which verbs a subresource has is its own to say.
      if (target.subresource === null && !definition.verbs.includes(verb)) {
        throw methodNotSupported(resourceOf(definition), verb)
      }
      refuseUnconvertible(definition)
      if (verb === 'list' || verb === 'deletecollection') requireConvertible(given.store, definition, target)
      if (definition.holdsNamespaces === true && !READS.has(verb)) await takenIn()
      const request = definition === asked.definition ? asked : { ...asked, definition }
      return represented(parts, request, await handle(partsOf(definition), request))
    }
    if (asked.definition.custom === undefined) return run(asked.definition)
    return retryOnSchemaChange({ ...given, states }, verb, asked, isConfirmed, run)
  }
  const reading = (verb: Verb, handle: (of: VerbParts, request: VerbRequest) => Promise<Answer>) => {
    return (asked: VerbRequest): Promise<Answer> =>
      answer(verb, asSwitched(asked, parts.switches), neverConfirmed, handle)
  }
  const writing = (verb: Verb, handle: (of: VerbParts, request: WriteRequest) => Promise<Answer>) => {
    return (asked: VerbRequest): Promise<Answer> => {
      const admission = new AdmissionContext(asked.context, parts)
      const request = { ...asSwitched(asked, parts.switches), admission }
      return answer(verb, request, (refusal) => refusal === admission.confirmedRefusal, handle)
    }
  }
  const { definitionsTakenIn } = given
  return {
    catalog: given.catalog,
    lateKinds: definitionsTakenIn === undefined ? null : new LateKinds({ ...parts, definitionsTakenIn }),
    storedBytes: (definition, target) => storedBytes(given.store, definition, target),
    get: reading('get', get),
    list: reading('list', list),
    watch: reading('watch', watch),
    create: writing('create', (of, request) => (isOperation(request) ? operate : create)(of, request)),
    update: writing('update', update),
    patch: writing('patch', patch),
    delete: writing('delete', remove),
    deleteCollection: writing('deletecollection', removeCollection),
  }
}

/** @throws ApiError `NotImplemented` */
function refuseUnconvertible(definition: ResourceDefinition): void {
  const { storedAs, version } = definition
  if (storedAs?.byWebhook !== true || storedAs.name === version) return
  throw notConvertible(resourceOf(definition), '', { asked: version, stored: storedAs.name })
}

/** No refusal of a read was checked behind a barrier yet. */
function neverConfirmed(): boolean {
  return false
}

const READS: ReadonlySet<Verb> = new Set(['get', 'list', 'watch'])

function storedBytes(store: ObjectStore, definition: ResourceDefinition, target: Target): Uint8Array | null {
  try {
    return store.view().get(keyOfTarget(definition, target))?.bytes ?? null
  } catch (cause) {
    // Why it cannot be read the verb says.
    if (cause instanceof ApiError || cause instanceof StoreFailure) return null
    throw cause
  }
}
