import { methodNotSupported } from '../api/errors/standard-errors.ts'
import { ApiError } from '../api/errors/api-error.ts'
import { StoreError } from '../store/store-errors.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { AdmissionContext } from './calls/admission-context.ts'
import type { VerbResponse, Registry, VerbRequest, WriteRequest } from './calls/verb.ts'
import { connect } from './verbs/connect.ts'
import { create } from './verbs/create.ts'
import { removeCollection } from './verbs/delete-collection.ts'
import { remove } from './verbs/delete.ts'
import { basisOf, DefinitionStates } from './kinds/definition-basis.ts'
import { resourceOf } from './kinds/definition.ts'
import type { ResourceDefinition, StoredVersion, Verb } from './kinds/definition.ts'
import { EventFrames } from './representations/event-frames.ts'
import { get } from './verbs/get.ts'
import { KeyedMutex } from './shared/keyed-mutex.ts'
import { WritesInFlight } from './shared/writes-in-flight.ts'
import { KindWatches } from './kinds/kind-watches.ts'
import { CatalogSync } from './kinds/catalog-sync.ts'
import { ByteBudget } from './shared/byte-budget.ts'
import { defaultRegistryLimits } from './shared/registry-limits.ts'
import type { RegistryLimits } from './shared/registry-limits.ts'
import { list } from './verbs/list.ts'
import { isOperation, operate } from './verbs/operate.ts'
import { WholeSchemas } from './calls/verb-dependencies.ts'
import type { VerbDependencies } from './calls/verb-dependencies.ts'
import { patch } from './verbs/patch.ts'
import { applyRepresentation } from './calls/apply-representation.ts'
import { keyOfTarget } from './calls/request.ts'
import type { Target } from './calls/request.ts'
import { retryOnSchemaChange } from './calls/retry-on-schema-change.ts'
import { onceOpened } from './calls/once-opened.ts'
import { fromStore } from './shared/store-error-mapping.ts'
import { VersionedStore } from './kinds/stored-version.ts'
import { ConversionCache } from './kinds/conversion-cache.ts'
import { noConverter } from './kinds/object-converter.ts'
import { WebhookStore } from './kinds/webhook-store.ts'
import { applySwitches, allSwitchesOn } from './calls/query-options.ts'
import type { RegistrySwitches } from './calls/query-options.ts'
import { EventRows } from './representations/table-framing.ts'
import { update } from './verbs/update.ts'
import { watch } from './verbs/watch.ts'

export type RegistryOptions = Omit<
  VerbDependencies,
  | 'limits'
  | 'switches'
  | 'frames'
  | 'rows'
  | 'schemas'
  | 'writers'
  | 'writesInFlight'
  | 'byteBudget'
  | 'kindWatches'
  | 'definitionState'
  | 'rawStore'
> & {
  /** See `SchemaChangeOptions`. */
  readonly definitionsApplied?: () => Promise<void>
  /** Unset: the defaults. */
  readonly limits?: RegistryLimits
  /** Unset: all switches on. */
  readonly switches?: RegistrySwitches
}

/** Returns the verbs over one member's store. */
export function registry(given: RegistryOptions): Registry {
  const limits = given.limits ?? defaultRegistryLimits
  const dependencies: VerbDependencies = {
    ...given,
    limits,
    switches: given.switches ?? allSwitchesOn,
    frames: new EventFrames(),
    rows: new EventRows(),
    schemas: new WholeSchemas(),
    rawStore: given.store,
    writers: new KeyedMutex(given.clock),
    writesInFlight: new WritesInFlight(given.clock),
    byteBudget: new ByteBudget(limits.heldBytesTotalMax),
    kindWatches: new KindWatches(given.catalog, given.clock),
  }
  const { store } = given
  const states = new DefinitionStates(store)
  const versions = new WeakMap<ResourceDefinition, VerbDependencies>()
  const { clock, converter = noConverter } = given
  const converting = { clock, limits, converter, cache: new ConversionCache(limits.conversionCacheBytes) }
  const storeOf = (definition: ResourceDefinition, version: StoredVersion): ObjectStore => {
    const { webhook } = version
    return webhook === undefined
      ? new VersionedStore(store, definition, version)
      : new WebhookStore(store, definition, { ...version, webhook }, converting)
  }
  /** Returns the dependencies of the verbs for the requested version. */
  const partsOf = (definition: ResourceDefinition): VerbDependencies => {
    const { storedAs } = definition
    const basis = basisOf(definition)
    if (storedAs === undefined && basis === undefined) return dependencies
    let found = versions.get(definition)
    if (found === undefined) {
      found = {
        ...dependencies,
        ...(storedAs === undefined ? {} : { store: storeOf(definition, storedAs) }),
        ...(basis === undefined ? {} : { definitionState: () => states.current(basis) }),
      }
      versions.set(definition, found)
    }
    return found
  }
  /**
   * A namespace is removed only when it has no objects of any kind, so the catalog must be current.
   */
  const untilCurrent = (): Promise<void> => fromStore(given.definitionsApplied?.() ?? Promise.resolve())
  const answer = <Asked extends VerbRequest>(
    verb: Verb,
    requested: Asked,
    isConfirmed: (refusal: ApiError) => boolean,
    handle: (dependencies: VerbDependencies, request: Asked) => Promise<VerbResponse>,
  ): Promise<VerbResponse> => {
    const { target } = requested
    const run = async (definition: ResourceDefinition): Promise<VerbResponse> => {
      // Subresources declare their own verbs.
      if (target.subresource === null && !definition.verbs.includes(verb)) {
        throw methodNotSupported(resourceOf(definition), verb)
      }
      if (definition.isNamespaceKind === true && !READS.has(verb)) await untilCurrent()
      const request = definition === requested.definition ? requested : { ...requested, definition }
      const answered = (): Promise<VerbResponse> => handle(partsOf(definition), request)
      return applyRepresentation(dependencies, request, await onceOpened(dependencies, request, answered))
    }
    if (requested.definition.custom === undefined) return run(requested.definition)
    return retryOnSchemaChange({ ...given, states }, verb, requested, isConfirmed, run)
  }
  const reading = (
    verb: Verb,
    handle: (of: VerbDependencies, request: VerbRequest) => Promise<VerbResponse>,
  ) => {
    return (requested: VerbRequest): Promise<VerbResponse> =>
      answer(verb, applySwitches(requested, dependencies.switches), neverConfirmed, handle)
  }
  const writing = (
    verb: Verb,
    handle: (of: VerbDependencies, request: WriteRequest) => Promise<VerbResponse>,
  ) => {
    return (requested: VerbRequest): Promise<VerbResponse> => {
      const admission = new AdmissionContext(requested.context, dependencies)
      const request = { admission, ...applySwitches(requested, dependencies.switches) }
      return answer(verb, request, (refusal) => refusal === admission.confirmedRefusal, handle)
    }
  }
  const { definitionsApplied } = given
  return {
    catalog: given.catalog,
    catalogSync:
      definitionsApplied === undefined ? null : new CatalogSync({ ...dependencies, definitionsApplied }),
    storedBytes: (definition, target) => storedBytes(given.store, definition, target),
    get: reading('get', get),
    list: reading('list', list),
    watch: reading('watch', watch),
    create: writing('create', (of, request) => (isOperation(request) ? operate : create)(of, request)),
    update: writing('update', update),
    patch: writing('patch', patch),
    delete: writing('delete', remove),
    deleteCollection: writing('deletecollection', removeCollection),
    connect: (request, options) => {
      const admission = new AdmissionContext(request.context, dependencies)
      return onceOpened(dependencies, request, () =>
        connect(dependencies, { ...request, admission }, options),
      )
    },
  }
}

/** Reads do not record whether a refusal was evaluated after a barrier. */
function neverConfirmed(): boolean {
  return false
}

const READS: ReadonlySet<Verb> = new Set(['get', 'list', 'watch'])

function storedBytes(store: ObjectStore, definition: ResourceDefinition, target: Target): Uint8Array | null {
  try {
    return store.view().get(keyOfTarget(definition, target))?.bytes ?? null
  } catch (cause) {
    // The verb reports why the object cannot be read.
    if (cause instanceof ApiError || cause instanceof StoreError) return null
    throw cause
  }
}
