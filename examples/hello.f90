! hello.f90 - a server and its workers over ZeroMQ: hello.c in Fortran, and each process may as well be that.
!
!     gfortran include/tithe/tithe.f90 examples/hello.f90 $(pkg-config --libs tithe_zmq) -o hello
!     ./hello 'listen=tcp://127.0.0.1:5555;workers=1' &
!     ./hello 'connect=tcp://127.0.0.1:5555;workers=1'

program hello
  use, intrinsic :: iso_fortran_env, only: error_unit
  use tithe
  implicit none
  integer, parameter :: n = 8
  character(len=400) :: group = '', options = 'codec=topk:keep=0.5;feedback=ec'
  type(c_ptr) :: comm = c_null_ptr, exchange = c_null_ptr
  type(tithe_error) :: error
  real(c_float) :: g(n)
  integer :: rank, workers, step, i

  call get_command_argument(1, group)
  if (command_argument_count() > 1) call get_command_argument(2, options)
  call expect(tithe_comm_zmq_open(trim(group) // c_null_char, comm, error))
  if (tithe_comm_local_ranks(comm) == 0) then
     call expect(tithe_serve(comm, error))
     print '(a)', 'server: done'
  else
     rank = tithe_comm_rank(comm)
     workers = tithe_comm_size(comm)
     call expect(tithe_exchange_open(comm, trim(options) // c_null_char, int(n, c_size_t), exchange, error))
     do step = 1, 2
        g = 0
        if (step == 1) g = [(real((rank + 1) * i, c_float), i = 1, n)]
        call expect(tithe_exchange_step(exchange, g, real(workers, c_double), error))   ! so often the mean is the sum
        print '(a, i0, a, *(1x, g0))', 'step ', step, ':', g
     end do
  end if
  call tithe_exchange_free(exchange)
  call tithe_comm_free(comm)

contains

  subroutine expect(status)
    integer(c_int), intent(in) :: status
    if (status == 0) return
    write (error_unit, '(2a)') 'hello: ', tithe_error_text(error)
    if (c_associated(comm)) call tithe_comm_give_up(comm, error%text)   ! so that nobody waits for this process
    call tithe_comm_free(comm)
    stop 1, quiet=.true.
  end subroutine
end program
