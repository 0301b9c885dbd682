import type { Clock } from '../../base/clock.ts'
import type { ApiClient, ApiReply } from './api-client.ts'
import { messageOf } from './api-client.ts'
import { CliError } from './errors.ts'
import { record, records, storedDefinition } from './storage-targets.ts'
import type { StorageTarget } from './storage-targets.ts'
import { sleep } from './terminal.ts'

export type MigrationOptions = {
  readonly dryRun: boolean
  /** Objects per list request. */
  readonly pageSize: number
  /** Objects per second. */
  readonly rate: number
  /** Requests at a time. */
  readonly concurrency: number
  /** Group of `PartialObjectMetadata`: only metadata is read. */
  readonly metaGroup: string
}

export type MigrationDependencies = {
  readonly client: Pick<ApiClient, 'call' | 'object'>
  readonly clock: Clock
  /** Called after each page. */
  readonly progress: (counts: MigrationCounts) => void
  readonly isInterrupted: () => boolean
}

export type MigrationCounts = {
  readonly objects: number
  /** Objects that the update changed: they were stored in another version, as a rule. */
  readonly written: number
  /** Objects that were deleted in the meantime. */
  readonly gone: number
  readonly failed: number
}

export type MigrationResult = MigrationCounts & {
  readonly target: StorageTarget
  /** The first failures, one line each. */
  readonly failures: readonly string[]
  /** After the migration. Empty for a built-in kind. */
  readonly storedVersions: readonly string[]
  readonly outcome: 'migrated' | 'checked' | 'failed' | 'interrupted'
}

/** Failures that are shown. */
const FAILURES_SHOWN_MAX = 10
/**
 * Maximum passes, and attempts to change the status. The migration ends with a pass that finds only
 * objects that earlier passes have updated.
 */
const PASSES_MAX = 10

/**
 * Updates every object of a resource without changes, which stores it in the storage version. Then
 * nothing but the storage version is left in `status.storedVersions` of its definition, so that the
 * other versions can be removed from it.
 *
 * A member decides a write with the definition that is current when the write takes effect, so an
 * object that was updated stays in the storage version unless the definition changes; that is
 * checked in the end.
 */
export class StorageMigration {
  readonly #target: StorageTarget
  readonly #options: MigrationOptions
  readonly #dependencies: MigrationDependencies
  /** uids of the objects whose update was answered, even with an error. */
  readonly #done = new Set<string>()
  readonly #failures: string[] = []
  readonly #counts = { objects: 0, written: 0, gone: 0, failed: 0 }
  #startedMs = 0

  constructor(target: StorageTarget, options: MigrationOptions, dependencies: MigrationDependencies) {
    this.#target = target
    this.#options = options
    this.#dependencies = dependencies
  }

  /**
   * @throws CliError `failed`: no member answers, objects cannot be listed, the definition changed,
   * its status cannot be changed, or every pass finds new objects
   */
  async run(): Promise<MigrationResult> {
    const { definition } = this.#target
    const { clock, isInterrupted } = this.#dependencies
    this.#startedMs = clock.monotonicMs()
    const before = definition?.storedVersions ?? []
    for (let pass = 1; pass <= PASSES_MAX; pass++) {
      const updated = await this.#pass()
      if (isInterrupted()) return this.#result('interrupted', before)
      if (this.#counts.failed > 0) return this.#result('failed', before)
      if (updated > 0 && !this.#options.dryRun) continue
      if (this.#options.dryRun) return this.#result('checked', before)
      if (definition === null) return this.#result('migrated', before)
      return this.#result('migrated', await this.#conclude(definition.path))
    }
    const words = `${this.#target.resource}: clients create objects faster than they are checked`
    throw new CliError('failed', `${words}; run the command again with a higher --rate`)
  }

  #result(outcome: MigrationResult['outcome'], storedVersions: readonly string[]): MigrationResult {
    return { ...this.#counts, target: this.#target, failures: this.#failures, storedVersions, outcome }
  }

  /** Updates all objects that no earlier pass has updated. @returns their number */
  async #pass(): Promise<number> {
    let token = ''
    let updated = 0
    do {
      const page = await this.#page(token)
      const items = records(page['items']).map((item) => record(item['metadata']))
      const fresh = items.filter(({ uid }) => !this.#done.has(String(uid)))
      updated += fresh.length
      await this.#update(fresh)
      this.#dependencies.progress(this.#counts)
      const next = record(page['metadata'])['continue']
      token = typeof next === 'string' ? next : ''
    } while (token !== '' && !this.#dependencies.isInterrupted() && !this.#isHopeless())
    return updated
  }

  /**
   * Returns whether every object so far, at least ten, has failed, most probably for the same
   * reason.
   */
  #isHopeless(): boolean {
    return this.#counts.failed >= FAILURES_SHOWN_MAX && this.#counts.failed === this.#counts.objects
  }

  #accept(list: 'List' | ''): string {
    const { metaGroup } = this.#options
    return `application/json;as=PartialObjectMetadata${list};g=${metaGroup};v=v1,application/json`
  }

  async #page(token: string): Promise<Readonly<Record<string, unknown>>> {
    const { client } = this.#dependencies
    const { path } = this.#target
    const query = (of: string): string =>
      `${path}?limit=${this.#options.pageSize}${of === '' ? '' : `&continue=${encodeURIComponent(of)}`}`
    const reply = await client.call({ method: 'GET', path: query(token), accept: this.#accept('List') })
    if (reply.status < 300) return reply.body
    // The history that the token needs was compacted: the list continues with the newest state.
    const later = reply.status === 410 ? record(reply.body['metadata'])['continue'] : undefined
    if (typeof later === 'string' && later !== '') return client.object({ method: 'GET', path: query(later) })
    throw new CliError('failed', `${this.#target.resource} cannot be listed: ${messageOf(reply)}`)
  }

  async #update(items: readonly Readonly<Record<string, unknown>>[]): Promise<void> {
    const { concurrency } = this.#options
    for (let at = 0; at < items.length; at += concurrency) {
      if (this.#dependencies.isInterrupted()) return
      await this.#pace()
      await Promise.all(items.slice(at, at + concurrency).map((metadata) => this.#updateOne(metadata)))
    }
  }

  /** Waits until the rate permits the next objects. */
  async #pace(): Promise<void> {
    const { clock } = this.#dependencies
    const dueMs = this.#startedMs + (this.#counts.objects / this.#options.rate) * 1000
    const waitMs = dueMs - clock.monotonicMs()
    if (waitMs >= 1) await sleep(clock, waitMs)
  }

  async #updateOne(metadata: Readonly<Record<string, unknown>>): Promise<void> {
    const { name, namespace, uid, resourceVersion } = metadata
    const { path, isNamespaced } = this.#target
    this.#counts.objects++
    const at = path.lastIndexOf('/')
    const place = isNamespaced ? `/namespaces/${encodeURIComponent(String(namespace))}` : ''
    const object = `${path.slice(0, at)}${place}${path.slice(at)}/${encodeURIComponent(String(name))}`
    const query = this.#options.dryRun ? '?dryRun=All' : ''
    // The uid protects a later object with the same name.
    const body = { metadata: { uid } }
    const reply = await this.#dependencies.client.call({
      ...{ method: 'PATCH', path: `${object}${query}`, body, accept: this.#accept('') },
    })
    this.#done.add(String(uid))
    if (reply.status < 300) {
      if (record(reply.body['metadata'])['resourceVersion'] !== resourceVersion) this.#counts.written++
    } else if (isGone(reply)) this.#counts.gone++
    else {
      this.#counts.failed++
      const shown = isNamespaced ? `${String(namespace)}/${String(name)}` : String(name)
      if (this.#failures.length < FAILURES_SHOWN_MAX) this.#failures.push(`${shown}: ${messageOf(reply)}`)
    }
  }

  /** Leaves only the storage version in the status. @returns the versions in it */
  async #conclude(path: string): Promise<readonly string[]> {
    const { client } = this.#dependencies
    const all = path.slice(0, path.lastIndexOf('/'))
    for (let attempt = 1; ; attempt++) {
      const now = storedDefinition(await client.object({ method: 'GET', path }), all)
      const { definition } = this.#target
      if (definition === null || now.uid !== definition.uid || now.generation !== definition.generation) {
        const words = `the definition of ${this.#target.resource} was changed during the migration`
        throw new CliError('failed', `${words}: run the command again`)
      }
      if (now.storedVersions.length === 1 && now.storedVersions[0] === now.storage) return now.storedVersions
      const { resourceVersion, storage } = now
      const body = { metadata: { resourceVersion }, status: { storedVersions: [storage] } }
      const reply = await client.call({ method: 'PATCH', path: `${path}/status`, body })
      if (reply.status < 300) return [storage]
      if (reply.status !== 409 || attempt === PASSES_MAX) {
        throw new CliError('failed', `status of ${this.#target.resource} not changed: ${messageOf(reply)}`)
      }
    }
  }
}

/** Not found, or another object of that name. */
function isGone({ status, body }: ApiReply): boolean {
  return status === 404 || (status === 409 && String(body['message']).includes('UID in precondition'))
}
