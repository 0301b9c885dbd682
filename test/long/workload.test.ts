/*
 * Goal: controllers, schedulers and node agents that are written for existing servers keep
 * Deployments at their size, whatever happens to the members.
 * Method: three real processes; a controller in the style of upstream's (shared informers of
 * @kubernetes/client-node, leader election by a Lease, work queues, expectations) in two replicas,
 * a scheduler and 20 node agents, each with its own user and upstream's roles. The leader is
 * killed five times, and the active controller is killed once and stopped once, while Pods are
 * deleted and Deployments scaled at random. Watches record every event; the checks compare them
 * with what every client was answered. `WORKLOAD_SEED=n` chooses the seed.
 */
import { test } from 'node:test'
import { workloadRun } from '../support/runs/workload-run.ts'

void test(
  '50 Deployments of 10 replicas keep their size through five killed leaders: no duplicate, no lost Pod, all bound once',
  { timeout: 1_800_000 },
  (t) => {
    const seed = Number(process.env['WORKLOAD_SEED'] ?? Date.now() % 100_000)
    return workloadRun(t, { deployments: 50, replicas: 10, nodes: 20, kills: 5, seed })
  },
)
