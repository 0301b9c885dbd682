import { CliError } from './errors.ts'
import { call, jsonOf, readEndpoints } from './member-client.ts'

const timeoutMs = 10_000

/**
 * Reads a path of the first member that responds, or sends a change to it. A change that may have
 * been made is not sent again.
 *
 * @param of.check the command that shows whether a change was made
 * @param of.missing the error if the member does not serve the path. Unset: that of the member
 * @param body the change. Unset: the path is read
 * @throws CliError `failed`
 */
export async function askOnce(
  kubeconfig: string,
  { path, check, missing }: { readonly path: string; readonly check: string; readonly missing?: string },
  body?: object,
): Promise<Record<string, unknown>> {
  const endpoints = readEndpoints(kubeconfig)
  for (const endpoint of endpoints) {
    // The change is sent only to a member that has answered a harmless request.
    const probe = await call(endpoint, { method: 'GET', path }, timeoutMs)
    if (probe === null) continue
    if (probe.status === 404 && missing !== undefined) throw new CliError('failed', missing)
    if (body === undefined) return jsonOf(endpoint, probe)
    const reply = await call(endpoint, { method: 'POST', path, body }, timeoutMs)
    if (reply !== null) return jsonOf(endpoint, reply)
    throw new CliError(
      'failed',
      `${endpoint.name} did not answer, so the change may have been made: check ${check} first`,
    )
  }
  const names = endpoints.map(({ name }) => name).join(', ')
  throw new CliError('failed', `no member answers: tried ${names}`)
}
