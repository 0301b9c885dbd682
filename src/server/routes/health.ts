import type { HealthCheck, Health } from '../../health/health.ts'
import { pathNotFound } from '../../api/errors/standard-errors.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App, Reply, Request } from '../calls/fastify-types.ts'
import { sendText } from '../responses/wire.ts'
import type { ServerLog } from '../calls/server-log.ts'

/**
 * Serves `/healthz`, `/livez`, `/readyz`, and one path per check.
 * @source spec 4.5; apiserver `pkg/server/healthz`
 */
export function healthRoutes(
  app: App,
  dependencies: { readonly health: Health; readonly log: ServerLog },
): void {
  const { health } = dependencies
  const sets = [
    ['healthz', health.readyz],
    ['livez', health.livez],
    ['readyz', health.readyz],
  ] as const
  for (const [name, checks] of sets) {
    const set = { name, checks, logged: '' }
    const all = (request: Request, reply: Reply): void => answerAll(set, request, reply, dependencies.log)
    for (const url of [`/${name}`, `/${name}/`]) app.route({ method: ['GET', 'HEAD'], url, handler: all })
    app.route({
      method: ['GET', 'HEAD'],
      url: `/${name}/:check`,
      handler: (request, reply) => answerOne(checks, request, reply),
    })
  }
}

type CheckSet = { readonly name: string; readonly checks: readonly HealthCheck[] }

function answerAll(set: CheckSet & { logged: string }, request: Request, reply: Reply, log: ServerLog): void {
  const call = callOf(request)
  const { query } = call.info
  const result = healthText(set, { verbose: query.has('verbose'), exclude: query.get('exclude') ?? [] })
  // Probes come every second or so: the log records changes only.
  const failures = result.failures.join('; ')
  if (failures !== set.logged) {
    set.logged = failures
    if (failures === '') log.info({ check: set.name }, 'healthy again')
    else log.warn({ check: set.name, failures: result.failures }, 'not healthy')
  }
  reply.hijack()
  sendText(reply.raw, call, request.method, result.code, result.text)
}

function answerOne(checks: readonly HealthCheck[], request: Request, reply: Reply): void {
  const call = callOf(request)
  const wanted = call.info.path.split('/')[2]
  const check = checks.find(({ name }) => name === wanted)
  if (check === undefined) throw pathNotFound()
  const failure = check.failure()
  reply.hijack()
  if (failure === null) sendText(reply.raw, call, request.method, 200, 'ok')
  else sendText(reply.raw, call, request.method, 500, `internal server error: ${failure}\n`)
}

/**
 * Returns the text for the whole set. Reasons are only logged, as the response is public, unless a
 * check is marked public.
 */
export function healthText(
  set: CheckSet,
  options: { readonly verbose: boolean; readonly exclude: readonly string[] },
): { readonly code: 200 | 500; readonly text: string; readonly failures: readonly string[] } {
  const excluded = new Set(options.exclude)
  const failures: string[] = []
  let lines = ''
  for (const { name, failure, isPublic } of set.checks) {
    if (excluded.delete(name)) {
      lines += `[+]${name} excluded: ok\n`
      continue
    }
    const why = failure()
    const shown = isPublic === true ? why : 'reason withheld'
    lines += why === null ? `[+]${name} ok\n` : `[-]${name} failed: ${shown}\n`
    if (why !== null) failures.push(`${name}: ${why}`)
  }
  if (excluded.size > 0) {
    const unmatched = [...excluded].map((name) => JSON.stringify(name)).join(',')
    lines += `warn: some health checks cannot be excluded: no matches for ${unmatched}\n`
  }
  if (failures.length > 0) return { code: 500, text: `${lines}${set.name} check failed\n`, failures }
  return { code: 200, text: options.verbose ? `${lines}healthz check passed\n` : 'ok', failures }
}
