import { badRequest } from '../../api/errors/standard-errors.ts'
import { assert } from '../../../base/assert.ts'
import { objectMember, textMember } from '../../api/json.ts'
import { chooseContainer } from './choose-container.ts'
import { agentPath, authorityOf, backendError } from './connection.ts'
import type { ConnectDependencies, Connection } from './connection.ts'
import { upgradeHeaders } from './forwarded-headers.ts'
import { agentQuery, containerOf, streamOptions } from './stream-options.ts'
import { answerRefusedUpgrade, answerTunnel, requireUpgrade } from './tunnel.ts'

const AGENT_PATHS = { exec: 'exec', attach: 'attach', portforward: 'portForward' } as const

/**
 * Connects the caller to a container of a Pod, or to its ports, through the agent of its node. The
 * protocol is between the caller and the agent.
 *
 * @throws ApiError
 * @source core `pkg/registry/core/pod/rest/subresources.go`
 */
export async function answerStreams(
  connects: keyof typeof AGENT_PATHS,
  { call, reply, subresource, verbRequest, name, namespace }: Connection,
  dependencies: ConnectDependencies,
): Promise<void> {
  const { backends, connect } = dependencies
  const upgrade = requireUpgrade(call, dependencies)
  const { options: kind } = subresource
  assert(kind !== null, 'streams have options')
  const sent = streamOptions(connects, kind, verbRequest.query)
  const { options, find } = await connect(verbRequest, { kind, object: sent })
  assert(options !== null, 'admission returns the options')
  const pod = find('pods', namespace, name)
  const parts = [AGENT_PATHS[connects], namespace ?? '', name]
  if (connects !== 'portforward') parts.push(chooseContainer(pod, name, containerOf(options)))
  const query = agentQuery(connects, options)
  const nodeName = textMember(objectMember(pod, 'spec'), 'nodeName')
  if (nodeName === '') throw badRequest(`pod ${name} does not have a host assigned`)
  const backend = backends.nodeAgent(find('nodes', null, nodeName))
  const answer = await backends.send(
    backend,
    {
      method: call.raw.method ?? 'GET',
      path: agentPath(parts, query),
      headers: ['host', authorityOf(backend), ...upgradeHeaders(call.raw, dependencies.domain)],
      body: null,
    },
    call.signal,
  )
  if (answer.kind === 'failed') throw backendError(`error dialing backend: ${answer.why}`)
  if (answer.kind === 'upgraded') {
    reply.hijack()
    answerTunnel(upgrade, answer, call)
  } else await answerRefusedUpgrade(answer.response, { call, reply }, dependencies)
}
