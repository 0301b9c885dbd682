import assert from 'node:assert/strict'
import { Registry as MetricsRegistry } from 'prom-client'
import { setTimeout as sleep } from 'node:timers/promises'
import { namesOf } from '../../../src/api/metadata/names.ts'
import type { ApiDomain } from '../../../src/api/metadata/names.ts'
import type { LogFile, LogFiles } from '../../../src/audit/log-files.ts'
import { AuditLogWriter } from '../../../src/audit/audit-log-writer.ts'
import { AuditMetrics } from '../../../src/audit/audit-metrics.ts'
import { auditApiVersion, parseAuditPolicy } from '../../../src/audit/policy-file.ts'
import { AuditTrail } from '../../../src/audit/audit-trail.ts'
import type { AuditMode } from '../../../src/audit/audit-trail.ts'
import { systemClock } from '../../../fixtures/system.ts'

/** An audit event as parsed from the log. */
export type LoggedEvent = {
  readonly kind: string
  readonly apiVersion: string
  readonly level: string
  readonly auditID: string
  readonly stage: string
  readonly requestURI: string
  readonly verb: string
  readonly user: { readonly username?: string; readonly groups?: readonly string[] }
  readonly sourceIPs?: readonly string[]
  readonly userAgent?: string
  readonly objectRef?: Readonly<Record<string, string>>
  readonly responseStatus?: {
    readonly code: number
    readonly status?: string
    readonly reason?: string
    readonly message?: string
    readonly details?: unknown
  }
  readonly requestObject?: unknown
  readonly responseObject?: unknown
  readonly requestReceivedTimestamp: string
  readonly stageTimestamp: string
  readonly annotations?: Readonly<Record<string, string>>
}

/** An audit log in memory that a test can block and break. */
export class MemoryAuditLog implements LogFiles {
  text = ''
  /** The error of appends and opens; null: they succeed. */
  broken: string | null = null
  /** The number of blocked appends. */
  waiting = 0
  #gate: Promise<void> = Promise.resolve()

  async open(): Promise<LogFile> {
    this.#check()
    return {
      size: 0,
      append: async (bytes) => {
        this.waiting++
        await this.#gate
        this.waiting--
        this.#check()
        this.text += Buffer.from(bytes).toString('utf8')
      },
      close: () => Promise.resolve(),
    }
  }

  rename(): Promise<void> {
    return Promise.reject(new Error('this log is never rotated'))
  }

  list(): Promise<readonly string[]> {
    return Promise.resolve([])
  }

  remove(): Promise<void> {
    return Promise.resolve()
  }

  /** Blocks all writes. @returns a function that ends this */
  holdUp(): () => void {
    let go = (): void => undefined
    this.#gate = new Promise((resolve) => {
      go = resolve
    })
    return go
  }

  /** Resolves once a writer waits. */
  async heldUp(): Promise<void> {
    for (let attempt = 0; this.waiting === 0; attempt++) {
      assert.ok(attempt < 6000, 'no writer waits')
      await sleep(10)
    }
  }

  get events(): readonly LoggedEvent[] {
    return eventsIn(this.text)
  }

  /** Resolves with the events of a request, once there are `count`. */
  async of(auditId: string, count: number): Promise<readonly LoggedEvent[]> {
    for (let attempt = 0; attempt < 6000; attempt++) {
      const found = this.events.filter(({ auditID }) => auditID === auditId)
      if (found.length >= count) return found
      await sleep(10)
    }
    return assert.fail(`there are fewer than ${count} events of ${auditId}:\n${this.text}`)
  }

  #check(): void {
    if (this.broken !== null) throw new Error(this.broken)
  }
}

/** @param text of a log */
export function eventsIn(text: string): readonly LoggedEvent[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LoggedEvent)
}

/** @param rules of the policy, in the form of its file */
export async function memoryTrail(of: {
  readonly rules: readonly object[]
  readonly domain?: ApiDomain
  readonly mode?: AuditMode
  readonly policy?: object
}): Promise<{
  readonly trail: AuditTrail
  readonly log: MemoryAuditLog
  readonly metrics: MetricsRegistry
  /** The logged messages. */
  readonly reported: readonly string[]
  readonly close: () => Promise<void>
}> {
  const names = namesOf(of.domain ?? 'orch.io')
  const apiVersion = auditApiVersion(names)
  const file = { apiVersion, kind: 'Policy', rules: of.rules, ...of.policy }
  const registry = new MetricsRegistry()
  const metrics = new AuditMetrics(registry)
  const log = new MemoryAuditLog()
  const reported: string[] = []
  const record = (fields: object, message: string): void =>
    void reported.push(`${message} ${JSON.stringify(fields)}`)
  const writer = await AuditLogWriter.open(
    { path: 'audit.log', bytesMax: Infinity, backupsMax: 0, backupMsMax: 0 },
    {
      ...{ clock: systemClock, files: log, log: { error: record, info: record } },
      onLost: (plugin, count) => metrics.lost(plugin, count),
    },
  )
  const trail = new AuditTrail({
    policy: parseAuditPolicy(JSON.stringify(file), names),
    names: { apiVersion, truncated: `${names.group('audit')}/truncated` },
    ...{ mode: of.mode ?? 'blocking', format: 'json' as const, log: writer, webhook: null, metrics },
  })
  return { trail, log, metrics: registry, reported, close: () => writer.close() }
}
