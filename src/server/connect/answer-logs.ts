import { objectMember, textMember } from '../../api/json.ts'
import { baseHeaders, writeHead } from '../responses/wire.ts'
import { bodyOf, refusedLogs } from './backend-refusal.ts'
import { chooseContainer } from './choose-container.ts'
import { OWN_USER_AGENT, agentPath, authorityOf, backendError } from './connection.ts'
import type { ConnectDependencies, Connection } from './connection.ts'
import { logOptions } from './log-options.ts'
import { passOn } from './pass-on.ts'

/**
 * Returns the logs of a container, from the agent of its node. For a Pod without a node: 204.
 *
 * @throws ApiError
 * @source core `pkg/registry/core/pod/rest/log.go`
 */
export async function answerLogs(
  { call, reply, verbRequest, name, namespace }: Connection,
  { backends, connect, clock }: ConnectDependencies,
): Promise<void> {
  const options = logOptions(verbRequest.query, name)
  const { find } = await connect(verbRequest, null)
  const pod = find('pods', namespace, name)
  const container = chooseContainer(pod, name, options.container)
  const nodeName = textMember(objectMember(pod, 'spec'), 'nodeName')
  if (nodeName === '') {
    reply.hijack()
    if (call.closed || call.reply.headersSent) return
    writeHead(call.reply, 204, baseHeaders(call, 'text/plain'))
    call.reply.end()
    return
  }
  const agent = backends.nodeAgent(find('nodes', null, nodeName))
  const backend = options.skipsVerification ? ({ ...agent, trust: 'unverified-node-agent' } as const) : agent
  const path = agentPath(['containerLogs', namespace ?? '', name, container], options.forAgent)
  const answer = await backends.send(
    backend,
    {
      ...{ method: 'GET', path, body: null },
      headers: ['host', authorityOf(backend), 'user-agent', OWN_USER_AGENT],
    },
    call.signal,
  )
  if (answer.kind === 'failed')
    throw backendError(`Get ${JSON.stringify(`https://${authorityOf(backend)}${path}`)}: ${answer.why}`)
  if (answer.kind === 'upgraded') {
    answer.socket.destroy()
    throw backendError('the agent of the node changed the protocol, which it was not asked for')
  }
  const status = answer.response.statusCode ?? 0
  if (status < 200 || status > 206) {
    const bytes = await bodyOf(answer.response, clock)
    throw refusedLogs(status, bytes.toString('utf8'), name)
  }
  reply.hijack()
  const headers = { ...baseHeaders(call, 'text/plain'), 'x-content-type-options': 'nosniff' }
  await passOn(answer.response, call, {
    ...{ code: 200, headers },
    isStream: options.forAgent.has('follow'),
  })
}
