/*
 * The server of a micro benchmark in a process of its own: the production HTTP layer, verbs and
 * state machine without consensus and disk. The measuring process controls it by messages.
 */
import { openSync, readSync } from 'node:fs'
import { PerformanceObserver } from 'node:perf_hooks'
import { encoded, configMapKey, put, write } from '../../fixtures/store-kit.ts'
import { realRegistry } from '../../fixtures/real-registry.ts'
import { ADMIN, TestAuthority, serverAround } from '../../fixtures/server-fixture.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import type { Store } from '../../src/store/store.ts'

export type Order =
  | { readonly kind: 'fill'; readonly objects: number; readonly bytes: number; readonly namespace: string }
  /** Begins to write the objects of one namespace in turn; `perSecond` 0 stops that. */
  | {
      readonly kind: 'update'
      readonly namespace: string
      readonly perSecond: number
      readonly objects: number
    }
  /** Returns the resource usage since the previous order of this kind. */
  | { readonly kind: 'usage' }

export type Usage = {
  /** Elapsed time of the longest turn of the event loop. */
  readonly turnMs: number
  /** Most CPU time of the main thread in one turn. */
  readonly turnCpuMs: number
  /** Longest garbage collection. */
  readonly collectorMs: number
  readonly residentMiB: number
  readonly heapMiB: number
  /** Memory of buffers and typed arrays, which is outside of the heap. */
  readonly buffersMiB: number
  readonly cpuMs: number
  readonly written: number
}

export type Listening = { readonly port: number; readonly ca: string; readonly token: string }

const [scheduleFile, schedule] = [openSync('/proc/self/schedstat', 'r'), Buffer.alloc(100)]

const { registry, store } = await realRegistry('k8s.io')
const authority = new TestAuthority()
const identity = authority.server()
const { server } = await serverAround(registry, {
  ...{ store, names: namesOf('k8s.io'), protocols: 'http2-and-http1' },
  tls: { certificate: identity.cert, key: identity.key, clientAuthorities: authority.pem },
})
const { port } = await server.listen('127.0.0.1', 0)

let [turnMs, turnCpuMs, collectorMs, written] = [0, 0, 0, 0]
let before = { wall: performance.now(), cpu: threadCpuMs(), all: process.cpuUsage(), since: 0 }
setInterval(() => {
  const [wall, cpu] = [performance.now(), threadCpuMs()]
  turnMs = Math.max(turnMs, wall - before.wall - 1)
  turnCpuMs = Math.max(turnCpuMs, cpu - before.cpu)
  before = { ...before, wall, cpu }
}, 1)
new PerformanceObserver((list) => {
  for (const { duration, startTime } of list.getEntries()) {
    // Excludes the garbage collection that `takeUsage` runs.
    if (startTime > before.since) collectorMs = Math.max(collectorMs, duration)
  }
}).observe({ entryTypes: ['gc'] })

let writing: NodeJS.Timeout | null = null
process.on('message', (order: Order) => {
  execute(order).then(
    (answer) => process.send?.(answer),
    (cause: unknown) => {
      throw cause
    },
  )
})
process.on('disconnect', () => process.exit(0))
process.send?.({ port, ca: authority.pem, token: ADMIN.authorization } satisfies Listening)

async function execute(order: Order): Promise<Usage | 'done'> {
  switch (order.kind) {
    case 'fill':
      for (let at = 0; at < order.objects; at += 500) {
        const names = Array.from({ length: Math.min(500, order.objects - at) }, (_, more) => `c${at + more}`)
        await change(store, order.namespace, names, order.bytes)
      }
      return 'done'
    case 'update': {
      if (writing !== null) clearInterval(writing)
      writing = null
      let next = 0
      const each = Math.max(1, Math.ceil(order.perSecond / 100))
      if (order.perSecond === 0) return 'done'
      writing = setInterval(
        () => {
          const names = Array.from({ length: each }, () => `c${next++ % order.objects}`)
          written += each
          void change(store, order.namespace, names, 900)
        },
        (1000 * each) / order.perSecond,
      )
      return 'done'
    }
    case 'usage':
      return takeUsage()
  }
}

/** Returns the statistics and the memory after a garbage collection, and resets the statistics. */
function takeUsage(): Usage {
  const { user, system } = process.cpuUsage(before.all)
  const seen = { turnMs, turnCpuMs, collectorMs, written, cpuMs: (user + system) / 1000 }
  globalThis.gc?.()
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage()
  ;[turnMs, turnCpuMs, collectorMs, written] = [0, 0, 0, 0]
  before = { wall: performance.now(), cpu: threadCpuMs(), all: process.cpuUsage(), since: performance.now() }
  return {
    ...seen,
    residentMiB: rss / 2 ** 20,
    heapMiB: heapUsed / 2 ** 20,
    buffersMiB: arrayBuffers / 2 ** 20,
  }
}

async function change(to: Store, namespace: string, names: readonly string[], bytes: number): Promise<void> {
  const operations = names.map((name) => {
    const key = configMapKey(name, namespace)
    return { ...put(key, ''), object: encoded(`${process.hrtime.bigint()} ${'v'.repeat(bytes)}`) }
  })
  await to.write(write(...operations), performance.now() + 10_000)
}

/** Returns the CPU time of the main thread without its helper threads. Linux only. */
function threadCpuMs(): number {
  return (
    Number(
      schedule.toString('latin1', 0, readSync(scheduleFile, schedule, 0, schedule.length, 0)).split(' ')[0],
    ) / 1e6
  )
}
