//! base 0.1.0
package 'bouncing_ball'
  model 'bouncing_ball' "A ball that bounces with a loss until it rests"
    parameter Real 'g'(unit = "m s-2") = 10.0 "gravity";
    parameter Real 'restitution' = 0.9 "speed after over speed before a bounce";
    parameter Real 'radius'(unit = "m") = 0.1 "radius of the ball";
    parameter Real 'height'(unit = "m") = 1.0 "initial height of the centre";
    parameter Real 'rest_speed'(unit = "m s-1") = 1e-4 "the ball rests below this speed";
    Real 'h'(unit = "m", start = 'height', fixed = true) "height of the centre";
    Real 'v'(unit = "m s-1", start = 0.0, fixed = true) "velocity";
    Boolean 'moving'(start = true, fixed = true);
  equation
    der('h') = if 'moving' then 'v' else 0.0;
    der('v') = if 'moving' then -'g' else 0.0;
    when 'h' <= 'radius' then
      'moving' = 'restitution' * abs('v') >= 'rest_speed';
      reinit('v', if 'moving' then 'restitution' * abs('v') else 0.0);
      reinit('h', if 'moving' then 'h' else 'radius');
    end when;
    annotation(experiment(StartTime = 0.0, StopTime = 10.0));
  end 'bouncing_ball';
end 'bouncing_ball';
