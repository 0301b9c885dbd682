import { methodNotSupported } from '../api/api-errors.ts'
import type { Answer, Registry, VerbHandler, VerbRequest } from './answer.ts'
import { byDefinition } from './by-definition.ts'
import { create } from './create.ts'
import { removeCollection } from './delete-collection.ts'
import { remove } from './delete.ts'
import { basisOf, DefinitionStates } from './definition-basis.ts'
import { resourceOf } from './definition.ts'
import type { ResourceDefinition, Verb } from './definition.ts'
import { EventFrames } from './event-frames.ts'
import { get } from './get.ts'
import { KindWatches } from './kind-watches.ts'
import { LateKinds } from './late-kinds.ts'
import { HeldBytes } from './held-bytes.ts'
import { defaultRegistryLimits } from './limits.ts'
import type { RegistryLimits } from './limits.ts'
import { list } from './list.ts'
import { isOperation, operate } from './operate.ts'
import { WholeSchemas } from './parts.ts'
import type { VerbParts } from './parts.ts'
import { patch } from './patch.ts'
import { represented } from './represent.ts'
import { fromStore } from './store-errors.ts'
import { VersionedStore } from './stored-version.ts'
import { asSwitched, everythingOn } from './switches.ts'
import type { RegistrySwitches } from './switches.ts'
import { EventRows } from './table-framing.ts'
import { Turns } from './turns.ts'
import { update } from './update.ts'
import { watch } from './watch.ts'

export type RegistryParts = Omit<
  VerbParts,
  'limits' | 'switches' | 'frames' | 'rows' | 'schemas' | 'turns' | 'held' | 'kindWatches' | 'definitionNow'
> & {
  /** See `ByDefinitionParts`. */
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
    turns: new Turns(given.clock),
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
  const handler =
    (verb: Verb, handle: (parts: VerbParts, ...rest: Parameters<VerbHandler>) => ReturnType<VerbHandler>) =>
    async (...[asked]: Parameters<VerbHandler>) => {
      const run = async (request: VerbRequest): Promise<Answer> => {
        const { definition, target } = request
        // Which verbs a subresource has is its own to say.
        if (target.subresource === null && !definition.verbs.includes(verb)) {
          throw methodNotSupported(resourceOf(definition), verb)
        }
        if (definition.holdsNamespaces === true && !READS.has(verb)) await takenIn()
        return represented(parts, request, await handle(partsOf(definition), request))
      }
      const request = asSwitched(asked, parts.switches)
      if (request.definition.custom === undefined) return run(request)
      return byDefinition({ ...given, states }, verb, request, run)
    }
  const { definitionsTakenIn } = given
  return {
    catalog: given.catalog,
    lateKinds: definitionsTakenIn === undefined ? null : new LateKinds({ ...parts, definitionsTakenIn }),
    get: handler('get', get),
    list: handler('list', list),
    watch: handler('watch', watch),
    create: handler('create', (of, request) => (isOperation(request) ? operate : create)(of, request)),
    update: handler('update', update),
    patch: handler('patch', patch),
    delete: handler('delete', remove),
    deleteCollection: handler('deletecollection', removeCollection),
  }
}

const READS: ReadonlySet<Verb> = new Set(['get', 'list', 'watch'])
