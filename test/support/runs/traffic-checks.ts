import assert from 'node:assert/strict'
import type { ApiClient, Body } from '../drivers/api-client.ts'
import type { Reader, Watcher, Writer } from './cluster-traffic.ts'

/* Checks of recorded traffic, one guarantee per function, named after the guarantee. */

type Item = {
  readonly metadata: { readonly name: string; readonly resourceVersion: string }
  readonly data: Record<string, string>
}

/**
 * Returns everything in a namespace, as one member reports it.
 *
 * @param query such as `resourceVersion=0`
 */
export async function contentsOf(
  client: ApiClient,
  namespace: string,
  query: string,
): Promise<readonly Item[]> {
  const reply = await client.get(`/api/v1/namespaces/${namespace}/configmaps?${query}`)
  assert.equal(reply.status, 200, reply.text)
  return (JSON.parse(reply.text) as Body & { items: Item[] }).items
}

/**
 * Asserts that no acknowledged write is missing or took effect twice, and that no unwritten object
 * exists.
 */
export function assertWritesKept(items: readonly Item[], writers: readonly Writer[]): void {
  const byName = new Map(items.map((item) => [item.metadata.name, item]))
  const explained = new Set<string>(['root-ca.crt', 'kube-root-ca.crt'])
  for (const { record } of writers) {
    for (const [name, version] of record.created) {
      const item = byName.get(name)
      assert.ok(item !== undefined, `acknowledged ${name} (version ${version}) is missing`)
      assert.equal(item.metadata.resourceVersion, version, `${name} was written once`)
      explained.add(name)
    }
    for (const name of record.uncertain) explained.add(name)
  }
  writers.forEach((writer, at) => {
    const name = `counter-w${at}`
    explained.add(name)
    const count = Number(byName.get(name)?.data['count'] ?? 0)
    const { increments, uncertainIncrements } = writer.record
    assert.ok(count >= increments, `${name}: ${count} stored, ${increments} acknowledged`)
    assert.ok(
      count <= increments + uncertainIncrements,
      `${name}: ${count} stored, at most ${increments + uncertainIncrements} asked for`,
    )
  })
  for (const name of byName.keys()) assert.ok(explained.has(name), `${name} exists and no client wrote it`)
}

/** Asserts that the versions returned to one client never decrease. */
export function assertNeverBack(revisions: readonly number[], who: string): void {
  for (let at = 1; at < revisions.length; at++) {
    const before = revisions[at - 1] as number
    const after = revisions[at] as number
    assert.ok(after >= before, `${who} received ${after} after ${before}`)
  }
}

export function assertReaderNeverBack(reader: Reader): void {
  assertNeverBack(reader.revisions, 'the reader')
}

/**
 * Ordered and unique: versions strictly ascend in each watcher. Reliable: all watchers saw the
 * same.
 */
export function assertWatchersAgree(watchers: readonly Watcher[]): void {
  const first = watchers[0] as Watcher
  watchers.forEach((watcher, who) => {
    for (let at = 1; at < watcher.events.length; at++) {
      const before = watcher.events[at - 1]
      const after = watcher.events[at]
      assert.ok(
        (after?.revision ?? 0) > (before?.revision ?? 0),
        `watcher ${who}: ${after?.revision} after ${before?.revision}`,
      )
    }
    assert.deepEqual(watcher.events, first.events, `watcher ${who} saw what watcher 0 saw`)
  })
}

/** Reliable: the watch returned each stored object at its current version. */
export function assertWatchComplete(items: readonly Item[], watcher: Watcher, since: number): void {
  const reported = new Map(watcher.events.map((event) => [event.name, event.revision]))
  for (const item of items) {
    const revision = Number(item.metadata.resourceVersion)
    if (revision <= since) continue
    assert.equal(
      reported.get(item.metadata.name),
      revision,
      `the watch returned ${item.metadata.name} at its last version`,
    )
  }
}
