import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { Registry as MetricsRegistry, collectDefaultMetrics } from 'prom-client'
import type { Clock } from '../raft/base/clock.ts'
import type { Random } from '../raft/base/random.ts'
import type { Consensus } from '../raft/index.ts'
import { namesOf } from './api/names.ts'
import { Bootstrap } from './app/bootstrap.ts'
import { ConsensusMetrics } from './app/consensus-metrics.ts'
import { openConsensus } from './app/consensus.ts'
import { Controllers } from './app/controllers.ts'
import { MemberDisk } from './app/disk-check.ts'
import { StartFailure } from './app/errors.ts'
import { checkIdentity } from './app/identity-check.ts'
import { memberKeys } from './app/keys.ts'
import { claimDirectory, memberId } from './app/member-identity.ts'
import { admissionOf, authenticatorOf, authorizerOf } from './app/policy.ts'
import { LevelRaiser } from './app/level-raiser.ts'
import { registerClusterMetrics } from './app/metrics.ts'
import { watchState } from './app/state-watch.ts'
import { tellStorageAlarm } from './app/storage-alarm.ts'
import { CaughtUp } from './cluster/caught-up.ts'
import { defaultHealthBounds, memberHealth } from './cluster/health.ts'
import { Members } from './cluster/members.ts'
import type { StateGuard } from './cluster/state-guard.ts'
import { WatchGuard } from './cluster/watch-guard.ts'
import type { Config } from './config/config.ts'
import { limits } from './config/limits.ts'
import { DirectoryTaken, lockDirectory } from './host/directory-lock.ts'
import type { DirectoryLock } from './host/directory-lock.ts'
import { makeDirectory } from './pki/files.ts'
import { Catalog } from './registry/catalog.ts'
import { registry as registryOf } from './registry/registry.ts'
import { definitionsFor } from './resources/index.ts'
import { openApiDocuments } from './server/openapi/documents.ts'
import { createServer } from './server/server.ts'
import { serverVersion } from './app/server-version.ts'
import type { Outcome } from './store/command.ts'
import { LevelKeyValueHome } from './store/disk/level-key-value-store.ts'
import { MemoryKeyValueHome } from './store/disk/memory-key-value-store.ts'
import { defaultStoreLimits } from './store/limits.ts'
import { StoreMachine } from './store/store-machine.ts'
import { storageRulesLevel } from './store/machine/feature-level.ts'
import { Store } from './store/store.ts'
import { HistoryTrimmer } from './store/trimming.ts'
import { programVersion } from './version.ts'

/** What a server needs of the world. */
export type AppHost = {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly pid: number
  /** The member cannot go on, or contradicts itself: say why and end the process. */
  readonly onFatal: (cause: unknown) => void
}

/** Where a test may put something between two parts; a server has none. */
export type AppSeams = {
  readonly consensus?: (real: Consensus<Outcome>) => Consensus<Outcome>
  readonly machine?: (machine: StoreMachine) => void
}

export type App = {
  /** Where clients are served. */
  readonly url: string
  /** Of a member that made its own keys. */
  readonly kubeconfig: string | null
  /** Unready, drain, leadership away, close. Once. */
  readonly stop: () => Promise<void>
}

/** The envelope around a command takes the rest of its entry. */
const storeLimits = Object.freeze({ ...defaultStoreLimits, commandBytesMax: limits.entryBytesMax - 1024 })

/** How long a member may take to hand leadership away and close. */
const leaveMsMax = 3000

/**
 * Builds one member, part after part, each closed in reverse by `stop`.
 *
 * @throws StartFailure, ConfigFailure, or the failure of the part that could not start; nothing stays open
 */
export async function startApp(config: Config, host: AppHost, seams: AppSeams = {}): Promise<App> {
  const closing = new Closing()
  try {
    return await build(config, host, seams, closing)
  } catch (cause) {
    await closing.all()
    throw cause
  }
}

async function build(config: Config, host: AppHost, seams: AppSeams, closing: Closing): Promise<App> {
  const { clock, random, log, onFatal } = host
  const names = namesOf(config['api-domain'])
  const id = memberId(config['cluster-name'], config.name)

  const directory = await ownDirectory(config, host, closing)
  if (!config['in-memory']) {
    claimDirectory(directory, {
      cluster: config['cluster-name'],
      member: config.name,
      id,
      apiDomain: names.domain,
    })
  }
  const disk = config['in-memory']
    ? null
    : new MemberDisk(directory, { clock, log, electionMs: config['election-timeout'] })
  closing.add(() => disk?.close())
  const keys = memberKeys(config, directory, { clock, random })

  const threads = new ConsensusMetrics()
  const node = openConsensus(config, {
    ...{ id, directory, keys, clock, random, log, onFatal },
    onMeasured: (measured) => threads.take(measured),
  })
  let machine: StoreMachine | null = null
  // Nothing may be applied any more when the database closes.
  closing.add(async () => {
    await node.stop(clock.monotonicMs() + leaveMsMax)
    await machine?.close()
  })
  const recovered = await node.recovered
  if (recovered.repaired !== null) log.warn({ repaired: recovered.repaired }, 'the log was repaired')
  let judge: StateGuard | null = null
  machine = await StoreMachine.open({
    home: config['in-memory'] ? new MemoryKeyValueHome() : new LevelKeyValueHome(join(directory, 'db')),
    clock,
    limits: storeLimits,
    logBase: recovered.base,
    logLast: recovered.lastIndex,
    featureLevelMax: config['feature-level-max'],
    onFailure: onFatal,
    onInstalled: ({ index, term }) => log.info({ index, term }, 'snapshot installed'),
    onQuarantine: ({ reason, atLeast }) =>
      log.error(
        { reason, atLeast },
        'the state is not to be trusted: nothing is served until another is here',
      ),
    mayGive: (atLeast) => judge?.mayGive(atLeast) ?? atLeast === null,
    onReplay: (why) =>
      log.warn({ why }, 'the database is set aside: the log, whole from its first entry, makes another'),
  })
  seams.machine?.(machine)
  await node.start(machine)

  const consensus: Consensus<Outcome> = seams.consensus === undefined ? node : seams.consensus(node)
  const store = new Store({ consensus, machine, clock, limits: storeLimits })
  closing.add(() => store.close())
  const bootstrap = new Bootstrap({
    ...{ store, consensus, clock, random, names },
    fingerprints: keys.fingerprints,
    settings: {
      historyWindowMs: config['initial-history-window'],
      historyEventsMin: config['initial-history-events-min'],
      objectBytesMax: limits.requestBytesMax,
      storageBytesMax:
        config['feature-level-max'] < storageRulesLevel ? null : config['initial-storage-quota'],
    },
    featureLevel: config['feature-level-max'],
  })
  bootstrap.start(onFatal)
  closing.add(() => bootstrap.stop())
  const opened = machine
  closing.add(tellStorageAlarm({ store, log, onApplied: (listener) => opened.onApplied(listener) }))
  const featureLevelMax = config['feature-level-max']
  const watch = watchState({ machine, consensus, clock, log, limits: storeLimits, featureLevelMax })
  judge = watch.guard
  closing.add(() => watch.close())
  const raiser = new LevelRaiser({
    ...{ store, consensus, clock, log, featureLevelMax },
    reports: watch.reports,
    onFailure: onFatal,
  })
  raiser.start()
  closing.add(() => raiser.close())
  const trimmer = new HistoryTrimmer({
    consensus,
    machine,
    clock,
    limits: storeLimits,
    onFailure: onFatal,
  })
  trimmer.start()
  closing.add(() => trimmer.stop())

  const catalog = new Catalog(definitionsFor(names))
  const admission = admissionOf(names, store)
  const registry = registryOf({ store, clock, random, names, catalog, admission })
  const controllers = new Controllers({ registry, store, consensus, clock, names, catalog, log })
  controllers.start()
  closing.add(() => controllers.stop())

  const caughtUp = new CaughtUp({ consensus, clock })
  caughtUp.start()
  closing.add(() => caughtUp.close())
  const silence = new Silence(consensus, clock)
  const health = memberHealth({
    consensus,
    clock,
    bounds: defaultHealthBounds,
    silentThread: () => silence.thread(),
    livezGraceMs: config['livez-grace-period'],
    more: [
      {
        name: 'bootstrap',
        live: false,
        // A state that is not trusted is told of by its own check.
        failure: () =>
          store.identity === null && opened.quarantine === null ? 'the cluster has no identity yet' : null,
      },
      { name: 'state', live: false, failure: () => watch.guard.quarantineFailure() },
      { name: 'state-agreement', live: false, failure: () => watch.guard.agreementFailure() },
      { name: 'caught-up', live: false, failure: () => caughtUp.failure() },
    ],
  })
  closing.add(() => health.close())

  const metrics = new MetricsRegistry()
  collectDefaultMetrics({ register: metrics })
  disk?.register(metrics)
  threads.register(metrics)
  registerClusterMetrics(metrics, { consensus, node, store, machine, watch })
  const server = await createServer({
    ...{ registry, names, clock, random, log, metrics, health },
    authenticator: authenticatorOf(config, { clock }),
    authorizer: authorizerOf(config, names),
    members: new Members({
      ...{ consensus, health },
      state: () => ({
        index: opened.appliedMemory,
        digest: opened.quarantine === null ? opened.digest : null,
        featureLevel: store.featureLevel,
      }),
    }),
    store,
    openapi: openApiDocuments(catalog.all(), names, programVersion),
    version: serverVersion(),
    tls: keys.server,
    protocols: config.http2 ? 'http2-and-http1' : 'http1',
    limits: {
      requestsReadingMax: config['max-requests-inflight'],
      requestsWritingMax: config['max-mutating-requests-inflight'],
      watchesMax: limits.watchesMax,
      requestMsMax: config['request-timeout'],
      requestBytesMax: limits.requestBytesMax,
    },
    crash: onFatal,
  })
  const guard = new WatchGuard({
    clock,
    proofAgeMs: () => caughtUp.ageMs(),
    ageMsMax: limits.watchWithoutQuorumMsMax,
    endWatches: () => server.endWatches(),
  })
  guard.start()
  closing.add(() => guard.close())
  const drain = (): Promise<void> =>
    server.drain({
      shutdownDelayMs: config['shutdown-delay-duration'],
      graceMs: config['shutdown-grace-duration'],
    })
  closing.add(drain)
  const address = await listen(server, config)
  const url = `https://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
  log.info({ url, id, domain: names.domain }, 'serving')

  void bootstrap.identity.then((identity) => {
    const refusal = checkIdentity(identity, { names, fingerprints: keys.fingerprints })
    if (refusal !== null) onFatal(refusal)
  })
  let stopped: Promise<void> | null = null
  return { url, kubeconfig: keys.kubeconfig, stop: () => (stopped ??= closing.all()) }
}

/** The directory that is this process's alone; a passing one for a member that keeps nothing. */
async function ownDirectory(config: Config, host: AppHost, closing: Closing): Promise<string> {
  if (config['in-memory']) {
    const passing = mkdtempSync(join(tmpdir(), 'orch-in-memory-'))
    closing.add(() => rmSync(passing, { recursive: true, force: true }))
    return passing
  }
  let lock: DirectoryLock
  makeDirectory(config['data-dir'])
  try {
    lock = await lockDirectory(config['data-dir'], host.pid)
  } catch (cause) {
    if (cause instanceof DirectoryTaken) throw new StartFailure('data-directory', cause.message, { cause })
    throw cause
  }
  closing.add(() => lock.release())
  return config['data-dir']
}

async function listen(
  server: Awaited<ReturnType<typeof createServer>>,
  config: Config,
): ReturnType<typeof server.listen> {
  try {
    return await server.listen(config['bind-address'], config['secure-port'])
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new StartFailure('address', `cannot serve clients: ${why}`, { cause })
  }
}

/** Everything that was opened, closed in reverse. One that fails does not keep the others open. */
class Closing {
  #steps: (() => void | Promise<void>)[] = []

  add(step: () => void | Promise<void>): void {
    this.#steps.push(step)
  }

  async all(): Promise<void> {
    const steps = this.#steps.reverse()
    this.#steps = []
    const failures: unknown[] = []
    for (const step of steps) {
      try {
        await step()
      } catch (cause) {
        failures.push(cause)
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'a part could not be closed')
  }
}

/** Which thread has not been heard of. The raft thread tells its status several times a second. */
class Silence {
  readonly #clock: Clock
  #heardMs: number

  constructor(consensus: Pick<Consensus<never>, 'onStatus'>, clock: Clock) {
    this.#clock = clock
    this.#heardMs = clock.monotonicMs()
    consensus.onStatus(() => {
      this.#heardMs = clock.monotonicMs()
    })
  }

  thread(): string | null {
    return this.#clock.monotonicMs() - this.#heardMs > silenceMsMax ? 'raft' : null
  }
}

const silenceMsMax = 10_000
