import { assert, assertNever } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { isJsonObject } from '../api/json.ts'
import { formatTime } from '../api/metadata/time.ts'
import { IssueError } from './join-service.ts'
import type { JoinRecords, KeptRecord } from './join-service.ts'
import { recordFields, recordOf } from './join-record.ts'
import type { JoinRecord } from './join-record.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { encode, parseStored } from '../registry/kinds/encode.ts'
import { randomUid } from '../registry/kinds/metadata.ts'
import type { Condition, Operation } from '../store/command.ts'
import { keyOf, prefixOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import type { ObjectStore, StoredObject } from '../store/object-store.ts'
import { revision } from '../store/revision.ts'

/**
 * No kind has this group, so no API path leads to these records; digest, history and snapshots
 * contain them like any other data.
 */
const place = { group: 'internal', plural: 'jointokens' }
const prefix = prefixOf({ ...place, namespace: null })

export function isJoinRecord(key: Key): boolean {
  return key.startsWith(prefix)
}

/** Stores the records of join tokens as internal objects that only members read. */
export class StoredJoinRecords implements JoinRecords {
  readonly #store: Pick<ObjectStore, 'view' | 'barrier' | 'write'>
  readonly #clock: Clock
  readonly #random: Random

  constructor(dependencies: {
    readonly store: Pick<ObjectStore, 'view' | 'barrier' | 'write'>
    readonly clock: Clock
    readonly random: Random
  }) {
    this.#store = dependencies.store
    this.#clock = dependencies.clock
    this.#random = dependencies.random
  }

  barrier(deadlineMs: number): Promise<void> {
    return this.#store.barrier(deadlineMs)
  }

  all(): readonly KeptRecord[] {
    return this.#store.view().list(prefix, { after: null, limit: null }).objects.map(keptOf)
  }

  find(id: string): KeptRecord | null {
    const stored = this.#store.view().get(keyFor(id))
    return stored === null ? null : keptOf(stored)
  }

  async save(
    record: JoinRecord,
    expected: number | null,
    removed: readonly KeptRecord[],
    deadlineMs: number,
  ): Promise<boolean> {
    const put: Operation = {
      kind: 'put',
      key: keyFor(record.id),
      conditions: [conditionOf(expected)],
      object: encode(this.#objectOf(record)),
    }
    const deletions = removed.map((kept): Operation => {
      return { kind: 'delete', key: keyFor(kept.record.id), conditions: [conditionOf(kept.version)] }
    })
    const outcome = await this.#store.write({ kind: 'write', operations: [put, ...deletions] }, deadlineMs)
    switch (outcome.kind) {
      case 'done':
        return true
      case 'refused':
        return false
      case 'over-quota':
      case 'too-large':
        throw new IssueError(
          'full',
          'the storage is full: delete objects or raise the quota first (orchctl settings get shows the usage)',
        )
      case 'nothing':
        throw new TypeError('a write does something or is refused')
      default:
        return assertNever(outcome)
    }
  }

  #objectOf(record: JoinRecord): AnyObject {
    const stored = this.#store.view().get(keyFor(record.id))
    const { metadata } = stored === null ? { metadata: null } : parseStored(stored)
    return {
      kind: 'JoinToken',
      apiVersion: 'internal/v1',
      metadata: {
        name: record.id,
        uid: metadata?.uid ?? randomUid(this.#random),
        creationTimestamp: metadata?.creationTimestamp ?? formatTime(this.#clock.wallMs()),
      },
      spec: { ...recordFields(record) },
    }
  }
}

function keyFor(id: string): Key {
  return keyOf({ ...place, namespace: '', name: id })
}

function conditionOf(version: number | null): Condition {
  return version === null ? { kind: 'absent' } : { kind: 'revision-is', revision: revision(version) }
}

function keptOf(stored: StoredObject): KeptRecord {
  const object = parseStored(stored)
  const spec: unknown = object['spec']
  const record = isJsonObject(spec) ? recordOf(object.metadata.name ?? '', spec) : null
  assert(record !== null, 'a stored join token has all its fields')
  return { record, version: stored.revision }
}
