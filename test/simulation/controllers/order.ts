import type { Names } from '../../../src/api/metadata/names.ts'
import { partsOf } from '../../../src/store/key.ts'
import type { Key } from '../../../src/store/key.ts'
import { Finding } from '../checkers/finding.ts'
import type { Version } from '../checkers/version.ts'
import type { ObjectHistory } from './steps.ts'
import { storedDoc } from './stored-objects.ts'
import type { StoredDoc } from './stored-objects.ts'

/**
 * Checks what has to hold at each revision, not only at the end: an object that waits for others is
 * deleted after them, no two definitions have the same short name, and no quota shows less than is
 * stored.
 *
 * @throws Finding
 */
export function checkOrder(names: Names, history: ObjectHistory): void {
  const replay = new Replay(names)
  const versions = [...history.keys]
    .flatMap((key) => history.versionsOf(key))
    .toSorted((a, b) => a.revision - b.revision)
  for (const version of versions) replay.take(version)
}

/** Finalizers of owners that wait until no object refers to them. */
const waitingFinalizers = ['foregroundDeletion', 'orphan']

class Replay {
  readonly #definitions: string
  readonly #live = new Map<string, StoredDoc>()
  /** The keys of the live objects that refer to an owner, by its UID. */
  readonly #dependents = new Map<string, Set<string>>()
  readonly #liveUids = new Set<string>()
  readonly #counts = new Map<string, number>()

  constructor(names: Names) {
    this.#definitions = `${names.group('apiextensions')}/customresourcedefinitions/`
  }

  take(version: Version): void {
    const { key, kind } = version
    const before = this.#live.get(key)
    if (before !== undefined) this.#refer(key, before, 'no-longer')
    if (kind === 'deleted') {
      this.#live.delete(key)
      this.#liveUids.delete(version.uid)
      this.#checkDeletion(version)
    } else {
      const doc = storedDoc(version)
      this.#live.set(key, doc)
      this.#liveUids.add(version.uid)
      this.#refer(key, doc, 'from-now')
    }
    if (kind !== 'updated') this.#count(key, kind === 'created' ? 1 : -1)
    if (key.startsWith(this.#definitions)) this.#checkNames(version)
    // All writes of one command take effect together.
    if (version.last) this.#checkQuota(version)
  }

  #refer(key: string, { metadata }: StoredDoc, since: 'from-now' | 'no-longer'): void {
    for (const { uid } of metadata.ownerReferences ?? []) {
      const keys = this.#dependents.get(uid) ?? new Set()
      this.#dependents.set(uid, keys)
      if (since === 'from-now') keys.add(key)
      else keys.delete(key)
    }
  }

  #checkDeletion(version: Version): void {
    const { key, uid, revision } = version
    const { metadata } = storedDoc(version)
    const waits = metadata.finalizers?.find((finalizer) => waitingFinalizers.includes(finalizer))
    const [dependent] = this.#dependents.get(uid) ?? []
    if (waits !== undefined && dependent !== undefined)
      throw new Finding(
        'C3 order',
        `at revision ${revision} ${key} (${waits}) is deleted before ${dependent}`,
      )
    const isClaim = key.startsWith('/persistentvolumeclaims/')
    const user = metadata.ownerReferences?.find((owner) => this.#liveUids.has(owner.uid))
    if (isClaim && user !== undefined)
      throw new Finding('C3 order', `at revision ${revision} ${key} is deleted while ${user.name} uses it`)
  }

  #checkNames({ revision }: Version): void {
    const all = [...this.#live]
      .filter(([key]) => key.startsWith(this.#definitions))
      .flatMap(([, { status }]) => status?.acceptedNames?.shortNames ?? [])
    if (new Set(all).size !== all.length)
      throw new Finding(
        'C4 names',
        `at revision ${revision} the short names of all definitions have a duplicate: ${all.join(', ')}`,
      )
  }

  #count(key: string, more: number): void {
    const { group, plural, namespace } = partsOf(key as Key)
    const place = `${group}/${plural}/${namespace}`
    this.#counts.set(place, (this.#counts.get(place) ?? 0) + more)
  }

  /** A quota is in force as soon as its status has the limits. */
  #checkQuota({ key, revision }: Version): void {
    const { namespace } = partsOf(key as Key)
    const { hard, used } = this.#live.get(`/resourcequotas/${namespace}/quota`)?.status ?? {}
    if (namespace === '' || hard === undefined) return
    for (const [resource, amount] of Object.entries(used ?? {})) {
      const plural = resource.replace('count/', '')
      const stored = this.#counts.get(`/${plural}/${namespace}`) ?? 0
      if (Number(amount) < stored)
        throw new Finding(
          'C5 usage',
          `at revision ${revision} the quota of ${namespace} counts ${amount} ${plural} of ${stored}`,
        )
    }
  }
}
