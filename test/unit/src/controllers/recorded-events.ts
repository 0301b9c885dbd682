import { numberMember, objectMember, textMember } from '../../../../src/api/json.ts'
import { EventRecorder } from '../../../../src/controllers/event-recorder.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import type { Fixture } from '../registry/fixture.ts'

/** Returns a recorder of events, as each controller has one. */
export function recorderOf(api: Fixture): EventRecorder {
  const { store, clock, catalog, registry } = api
  const user = { name: 'system:controller', uid: '', groups: [], extra: {} }
  const client = new LocalClient({ registry, clock, user, timeoutMs: 10_000 })
  return new EventRecorder({ store, clock, catalog, client, component: 'test', onError: () => undefined })
}

/**
 * Returns the stored events, sorted, as `NAMESPACE: TYPE REASON KIND NAME xCOUNT`, with the
 * namespace that the event is stored in.
 */
export async function eventsIn(api: Fixture): Promise<readonly string[]> {
  const { items } = await api.list({ kind: 'Event', namespace: null })
  const texts = items.map((event) => {
    const about = objectMember(event, 'involvedObject')
    const namespace = textMember(objectMember(event, 'metadata'), 'namespace')
    const words = [
      ...[textMember(event, 'type'), textMember(event, 'reason')],
      ...[textMember(about, 'kind'), textMember(about, 'name'), `x${numberMember(event, 'count')}`],
    ]
    return `${namespace}: ${words.join(' ')}`
  })
  return texts.sort()
}

/** Returns the messages of the events of a reason. */
export async function messagesOf(api: Fixture, reason: string): Promise<readonly string[]> {
  const { items } = await api.list({ kind: 'Event', namespace: null })
  return items.filter((event) => event['reason'] === reason).map((event) => textMember(event, 'message'))
}
